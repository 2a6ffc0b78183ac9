// SPDX-License-Identifier: Apache-2.0
// What is done with text in many places. Pure, any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace kvboost {

/// With the letters A to Z in lower case, all other bytes as they are.
[[nodiscard]] std::string ascii_lower(std::string_view text);

/// As much of the beginning of UTF-8 as `most` bytes hold, no character cut.
[[nodiscard]] std::string_view utf8_beginning(std::string_view text, std::size_t most);

/// "1,234,567".
[[nodiscard]] std::string human_count(std::int64_t number);
/// "1 file", "2 files".
[[nodiscard]] std::string plural(std::int64_t number, std::string_view noun);

/// As printf writes it.
[[nodiscard, gnu::format(printf, 1, 2)]] std::string formatted(const char* pattern, ...);

}  // namespace kvboost
