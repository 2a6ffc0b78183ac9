// SPDX-License-Identifier: Apache-2.0
// The last step of every chunker: pieces joined to chunks at the cheapest cuts. Pure functions, any thread.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "cache/chunk/chunk.h"
#include "cache/chunk/partition.h"
#include "cache/chunk/pieces.h"

namespace kvboost::cache {

/// The sum of pieces' tokens is their count as one text, give or take this: the line ends at its two edges.
inline constexpr std::size_t kSumError = 3;

/// Chunks within `limits`, best of half the maximum, give or take `window` tokens.
[[nodiscard]] SizeRule size_rule(const ChunkLimits& limits, std::size_t window);

/// Chunks that cover `text`. None has more than rule.max tokens, counted as one text, unless one piece alone
/// has.
[[nodiscard]] std::vector<Chunk> join_pieces(std::string_view text, std::span<const Piece> pieces,
                                             std::span<const Cost> cut_costs, const SizeRule& rule,
                                             const TokenCounter& count);

}  // namespace kvboost::cache
