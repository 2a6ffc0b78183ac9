// SPDX-License-Identifier: Apache-2.0
// Where well-formed UTF-8 ends, and code points ↔ bytes. Pure functions, any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace kvboost::engine {

/// The length of the longest prefix of `text` that is well-formed UTF-8 (no surrogates, nothing overlong).
[[nodiscard]] std::size_t well_formed_prefix(std::string_view text);

/// The length of the character that `text`, well-formed and not empty, begins with.
[[nodiscard]] std::size_t first_character(std::string_view text);

/// What `bytes`, not empty, begins with: a whole character, a beginning of one, or neither.
enum class Utf8Start { kCharacter, kUnfinished, kIllFormed };
struct Utf8Character {
  Utf8Start start;
  char32_t code_point;  // kCharacter
  std::size_t length;   // kCharacter
};
[[nodiscard]] Utf8Character read_character(std::string_view bytes);

void append_utf8(std::string& out, char32_t code_point);

}  // namespace kvboost::engine
