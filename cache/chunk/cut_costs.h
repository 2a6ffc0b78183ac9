// SPDX-License-Identifier: Apache-2.0
// What it costs to cut before each piece: by the syntax tree, or, without one, by blank lines and
// indentation. Pure functions, any thread.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "cache/chunk/partition.h"
#include "cache/chunk/pieces.h"
#include "cache/chunk/syntax.h"

namespace kvboost::cache {

[[nodiscard]] std::vector<Cost> line_cut_costs(std::string_view text, std::span<const Piece> pieces);

/// Members of at most `max_tokens` would fit into a chunk whole, so a cut through one is dear.
[[nodiscard]] std::vector<Cost> syntax_cut_costs(std::string_view text, std::span<const Piece> pieces,
                                                 const Syntax& syntax, std::size_t max_tokens);

}  // namespace kvboost::cache
