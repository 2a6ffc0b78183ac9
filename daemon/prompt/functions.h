// SPDX-License-Identifier: Apache-2.0
// The functions (or classes, or other declarations) of a file that a report is most probably about. A pure
// function, any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cache/rank/bm25.h"

namespace kvboost::daemon {

struct FoundFunction {
  std::string name;
  std::int32_t first_line = 0;  // 1-based, inclusive
  std::int32_t last_line = 0;
};

/// Best first: the innermost one around `named_line` (0: none), then those that have most of the query's
/// words. `path` tells the language; none without a grammar.
[[nodiscard]] std::vector<FoundFunction> find_functions(std::string_view path, std::string_view text,
                                                        std::span<const cache::QueryPart> query,
                                                        std::int32_t named_line, std::size_t limit);

}  // namespace kvboost::daemon
