// SPDX-License-Identifier: Apache-2.0
#include "cache/chunk/join.h"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace kvboost::cache {
namespace {

class Joiner {
 public:
  Joiner(std::string_view text, std::span<const Piece> pieces, std::span<const Cost> cut_costs,
         const TokenCounter& count)
      : text_(text), pieces_(pieces), cut_costs_(cut_costs), count_(count) {
    tokens_.reserve(pieces.size());
    for (const Piece& piece : pieces) tokens_.push_back(std::max<std::size_t>(piece.tokens, 1));
  }

  std::vector<Chunk> join(const SizeRule& rule) {
    max_ = rule.max;
    SizeRule sums = rule;
    sums.max = std::max<std::size_t>(rule.max, kSumError + 1) - kSumError;
    sums.min = std::min(rule.min + kSumError, sums.max);
    cut(0, pieces_.size(), sums);
    return std::move(chunks_);
  }

 private:
  void cut(std::size_t first, std::size_t last, const SizeRule& rule) {
    const auto tokens = std::span(tokens_).subspan(first, last - first);
    std::vector<std::size_t> firsts = partition(tokens, cut_costs_.subspan(first, last - first), rule);
    firsts.push_back(last - first);
    for (std::size_t i = 0; i + 1 < firsts.size(); ++i) add(first + firsts[i], first + firsts[i + 1], rule);
  }

  // The sum over the pieces is near the count of the whole, so only a chunk near the limit is counted. One
  // that is above it is cut again, by a lower limit.
  void add(std::size_t first, std::size_t last, SizeRule rule) {
    std::size_t sum = 0;
    for (std::size_t i = first; i < last; ++i) sum += tokens_[i];
    const std::size_t begin = pieces_[first].begin;
    const std::size_t end = pieces_[last - 1].end;
    if (last - first > 1 && sum > max_ - max_ / 8 && count_(text_.substr(begin, end - begin)) > max_) {
      rule.max = rule.max * 3 / 4;
      rule.high = std::min(rule.high, rule.max);
      rule.low = std::min(rule.low, rule.high);
      cut(first, last, rule);
      return;
    }
    chunks_.push_back(
        {begin, end, pieces_[first].row + 1, row_behind(last) + (text_[end - 1] == '\n' ? 0 : 1)});
  }

  // The row, from 0, of the first byte behind the pieces [0, last).
  std::int32_t row_behind(std::size_t last) const {
    if (last < pieces_.size()) return pieces_[last].row;
    const Piece& piece = pieces_.back();
    const std::string_view line = text_.substr(piece.begin, piece.end - piece.begin);
    return piece.row + static_cast<std::int32_t>(std::ranges::count(line, '\n'));
  }

  std::string_view text_;
  std::span<const Piece> pieces_;
  std::span<const Cost> cut_costs_;
  const TokenCounter& count_;
  std::vector<std::size_t> tokens_;
  std::size_t max_ = 0;
  std::vector<Chunk> chunks_;
};

}  // namespace

SizeRule size_rule(const ChunkLimits& limits, std::size_t window) {
  const std::size_t max = std::max<std::size_t>(limits.max_tokens, 1);
  const std::size_t min = std::min(limits.min_tokens, max);
  const std::size_t nominal = std::max(min, max / 2);
  // What stands between two anchors must leave a choice of sizes, however long it is.
  const std::size_t reach = max >= 4 * min ? std::max(3 * min, nominal * 3 / 4) : 0;
  return {.min = min,
          .low = std::max(min, nominal - std::min(nominal, window)),
          .high = std::min(max, nominal + window),
          .max = max,
          .anchor_reach = reach};
}

std::vector<Chunk> join_pieces(std::string_view text, std::span<const Piece> pieces,
                               std::span<const Cost> cut_costs, const SizeRule& rule,
                               const TokenCounter& count) {
  return Joiner(text, pieces, cut_costs, count).join(rule);
}

}  // namespace kvboost::cache
