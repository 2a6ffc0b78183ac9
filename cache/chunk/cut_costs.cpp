// SPDX-License-Identifier: Apache-2.0
#include "cache/chunk/cut_costs.h"

#include <algorithm>
#include <cstdint>

namespace kvboost::cache {
namespace {

constexpr Cost kDeepest = 4 * CutCost::kWholeMember;  // no cut between members costs more for being deep

Cost indent_cost(const Piece& piece) {
  return 8 * CutCost::kUnit * static_cast<Cost>(std::min<std::size_t>(piece.indent, 40));
}

// Tells cuts apart that cost the same, by the line behind the cut alone: the same lines then draw the cuts
// wherever they stand.
Cost line_sign(std::string_view text, const Piece& piece) {
  std::uint32_t hash = 2166136261;  // FNV-1a
  for (const char c : text.substr(piece.begin, piece.end - piece.begin)) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 16777619;
  }
  return (hash >> 8) % CutCost::kBySign;
}

// What a cut inside of each member costs. A member's parent stands before it.
std::vector<Cost> member_costs(std::span<const Piece> pieces, const Syntax& syntax, std::size_t max_tokens) {
  std::vector<std::size_t> tokens_before(syntax.rows.size() + 1, 0);  // of a row: in all rows before it
  for (const Piece& piece : pieces) tokens_before[static_cast<std::size_t>(piece.row) + 1] += piece.tokens;
  for (std::size_t row = 1; row < tokens_before.size(); ++row) tokens_before[row] += tokens_before[row - 1];
  std::vector<Cost> costs;
  costs.reserve(syntax.members.size());
  for (const SyntaxMember& member : syntax.members) {
    const std::size_t tokens = tokens_before[static_cast<std::size_t>(member.last_row) + 1] -
                               tokens_before[static_cast<std::size_t>(member.first_row)];
    const Cost outer = member.parent < 0 ? 0 : costs[static_cast<std::size_t>(member.parent)];
    const Cost own = tokens <= max_tokens ? CutCost::kWholeMember : CutCost::kLargeMember;
    costs.push_back(std::min(outer + own, kDeepest));
  }
  return costs;
}

}  // namespace

std::vector<Cost> line_cut_costs(std::string_view text, std::span<const Piece> pieces) {
  std::vector<Cost> costs;
  costs.reserve(pieces.size());
  for (const Piece& piece : pieces) {
    const Cost paragraph = piece.after_blank ? 0 : 4 * CutCost::kNoBlankLine;
    costs.push_back(piece.starts_line ? paragraph + indent_cost(piece) + line_sign(text, piece)
                                      : CutCost::kInLine);
  }
  return costs;
}

std::vector<Cost> syntax_cut_costs(std::string_view text, std::span<const Piece> pieces, const Syntax& syntax,
                                   std::size_t max_tokens) {
  const std::vector<Cost> inside = member_costs(pieces, syntax, max_tokens);
  std::vector<Cost> costs;
  costs.reserve(pieces.size());
  for (const Piece& piece : pieces) {
    const SyntaxRow& row = syntax.rows[static_cast<std::size_t>(piece.row)];
    Cost cost = line_sign(text, piece) + (piece.after_blank ? 0 : CutCost::kNoBlankLine);
    if (!piece.starts_line) {
      cost = CutCost::kInLine;
    } else if (row.start == RowStart::kMember) {
      cost += row.member < 0 ? 0 : inside[static_cast<std::size_t>(row.member)];
    } else {
      cost += (row.start == RowStart::kPart ? CutCost::kPart : CutCost::kInside) + indent_cost(piece);
    }
    costs.push_back(cost);
  }
  return costs;
}

}  // namespace kvboost::cache
