// SPDX-License-Identifier: Apache-2.0
// What is done with text in many places. Pure, any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

namespace kvboost {

/// With the letters A to Z in lower case, all other bytes as they are.
[[nodiscard]] std::string ascii_lower(std::string_view text);

/// As much of the beginning of UTF-8 as `most` bytes hold, no character cut.
[[nodiscard]] std::string_view utf8_beginning(std::string_view text, std::size_t most);

inline constexpr std::string_view kWhiteSpace = " \t\r\n\v\f";

/// Without the blanks at both ends.
[[nodiscard]] std::string_view trimmed(std::string_view text, std::string_view blanks = kWhiteSpace);

/// Whether any of the words stands in it.
[[nodiscard]] bool contains_any(std::string_view text, std::initializer_list<std::string_view> words);

/// The line that byte `at` stands in, 1 and more; a byte behind the end counts as the end.
[[nodiscard]] std::int32_t line_number(std::string_view text, std::size_t at);

/// As one word of a POSIX shell.
[[nodiscard]] std::string shell_word(std::string_view text);

/// "1,234,567".
[[nodiscard]] std::string human_count(std::int64_t number);
/// "1 file", "2 files".
[[nodiscard]] std::string plural(std::int64_t number, std::string_view noun);

/// As printf writes it.
[[nodiscard, gnu::format(printf, 1, 2)]] std::string formatted(const char* pattern, ...);

}  // namespace kvboost
