// SPDX-License-Identifier: Apache-2.0
// The declarations of a file, by its grammar. A pure function, any thread.
#pragma once

#include <chrono>
#include <string_view>
#include <vector>

#include "cache/chunk/syntax.h"

namespace kvboost::cache {

/// Outer ones before those that they hold. None where there is no grammar, where the text is not worth
/// parsing, or where the parser takes more than `budget` of its thread's time.
[[nodiscard]] std::vector<Symbol> find_symbols(std::string_view path, std::string_view text,
                                               std::chrono::milliseconds budget);

}  // namespace kvboost::cache
