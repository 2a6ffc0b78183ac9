// SPDX-License-Identifier: Apache-2.0
#include "cache/chunk/chunker.h"

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>

#include "cache/chunk/cut_costs.h"
#include "cache/chunk/grammars.h"
#include "cache/chunk/join.h"
#include "cache/chunk/line_ends.h"
#include "cache/chunk/parse_guard.h"
#include "cache/chunk/pieces.h"
#include "cache/chunk/syntax.h"

namespace kvboost::cache {
namespace {

// Raised whenever the same options and grammars cut a text in another way than before.
constexpr std::uint64_t kVersion = 1;

SizeRule fixed_rule(std::size_t nominal, std::size_t window) {
  const std::size_t down = std::min(nominal, window);
  const std::size_t min = nominal - down + std::min(down, kSumError);
  const std::size_t max = std::max<std::size_t>(nominal + window, 1);
  return {.min = min, .low = min, .high = max, .max = max, .anchor_reach = 0};
}

// The declaration that begins first in each chunk, or else the innermost one that holds its first byte.
std::vector<std::string> symbols_of(std::span<const Chunk> chunks, std::span<const Symbol> symbols) {
  std::vector<std::string> names;
  std::vector<const Symbol*> open;  // declarations around the current place, outermost first
  std::size_t next = 0;
  for (const Chunk& chunk : chunks) {
    while (!open.empty() && open.back()->end <= chunk.begin) open.pop_back();
    std::string name = open.empty() ? std::string() : open.back()->name;
    for (bool first = true; next < symbols.size() && symbols[next].begin < chunk.end; ++next, first = false) {
      if (first) name = symbols[next].name;
      while (!open.empty() && open.back()->end <= symbols[next].begin) open.pop_back();
      open.push_back(&symbols[next]);
    }
    names.push_back(std::move(name));
  }
  return names;
}

// `text` has \n line ends.
ChunkedFile chunk_text(std::string_view path, std::string_view text, const ChunkOptions& options,
                       const TokenCounter& count) {
  ChunkedFile file;
  if (text.empty()) return file;
  const Grammar* grammar = find_grammar(path, text);
  if (grammar != nullptr) file.language = grammar->name;
  if (options.chunking == Chunking::kDocument) {
    const auto lines = std::ranges::count(text.substr(0, text.size() - 1), '\n');
    file.chunks.push_back({0, text.size(), 1, static_cast<std::int32_t>(lines) + 1});
    file.symbols.resize(1);
    return file;
  }
  const SizeRule rule = options.chunking == Chunking::kFixed
                            ? fixed_rule(options.fixed_tokens, options.boundary_window)
                            : size_rule(options.limits, options.boundary_window);
  Result<Syntax> syntax = fail(ErrorCode::kNotFound, "");
  if (grammar != nullptr) {
    file.reason = why_not_parse(text);
    if (file.reason.empty()) syntax = read_syntax(*grammar, text, options.parse_budget);
    if (file.reason.empty() && !syntax) file.reason = syntax.error().message;
  }
  const std::vector<Piece> pieces = cut_pieces(text, rule.max, count);
  const std::vector<Cost> costs =
      syntax ? syntax_cut_costs(text, pieces, *syntax, rule.max) : line_cut_costs(text, pieces);
  file.chunks = join_pieces(text, pieces, costs, rule, count);
  file.symbols = symbols_of(file.chunks, syntax ? std::span(syntax->symbols) : std::span<const Symbol>());
  return file;
}

}  // namespace

Digest digest_of(const ChunkOptions& options) {
  Hasher hasher;
  hasher.update(KVBOOST_GRAMMARS).update_u64(kVersion);
  hasher.update_u64(static_cast<std::uint64_t>(options.chunking));
  for (const std::size_t number : {options.limits.min_tokens, options.limits.max_tokens, options.fixed_tokens,
                                   options.boundary_window}) {
    hasher.update_u64(number);
  }
  return hasher.update_u64(static_cast<std::uint64_t>(options.parse_budget.count())).finish();
}

ChunkedFile chunk(std::string_view path, std::string_view text, const ChunkOptions& options,
                  const TokenCounter& count) {
  if (!text.contains("\r\n")) return chunk_text(path, text, options, count);
  const std::string unix_text = with_unix_line_ends(text);
  ChunkedFile file = chunk_text(path, unix_text, options, count);
  map_to_original(text, file.chunks);
  return file;
}

}  // namespace kvboost::cache
