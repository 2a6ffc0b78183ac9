// SPDX-License-Identifier: Apache-2.0
#include "cache/chunk/chunk.h"
#include "cache/chunk/cut_costs.h"
#include "cache/chunk/join.h"
#include "cache/chunk/line_ends.h"

namespace kvboost::cache {

std::vector<Chunk> chunk_lines(std::string_view text, const ChunkLimits& limits, const TokenCounter& count) {
  constexpr std::size_t kWindow = 32;
  const std::string unix_text = with_unix_line_ends(text);
  SizeRule rule = size_rule(limits, kWindow);
  rule.anchor_reach = 0;  // for ranking, where an edit costs little: the best cuts of the whole text
  const std::vector<Piece> pieces = cut_pieces(unix_text, rule.max, count);
  std::vector<Chunk> chunks = join_pieces(unix_text, pieces, line_cut_costs(unix_text, pieces), rule, count);
  map_to_original(text, chunks);
  return chunks;
}

}  // namespace kvboost::cache
