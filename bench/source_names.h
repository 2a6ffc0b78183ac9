// SPDX-License-Identifier: Apache-2.0
// What a stretch of source text defines and says, found line by line without a grammar, for questions of
// which the right answer is known. Pure functions, any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace kvboost::bench {

/// Names of functions that begin on a line of their own: "def NAME(", or "... NAME(...) ... {".
[[nodiscard]] std::vector<std::string> functions_in(std::string_view text);

/// Names behind "class", "struct" or "enum class" whose body begins on the same line.
[[nodiscard]] std::vector<std::string> types_in(std::string_view text);

/// Lines of 24 to 90 characters, without the blanks around them.
[[nodiscard]] std::vector<std::string> lines_in(std::string_view text);

/// Whether `name` stands in the text, and not as a part of a longer name.
[[nodiscard]] bool has_word(std::string_view text, std::string_view name);

}  // namespace kvboost::bench
