// SPDX-License-Identifier: Apache-2.0
// Whether a block of lines is to be written at a place in a text, or one line: by the syntax tree where there
// is a grammar, else by the last character. A pure function, any thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <string_view>

namespace kvboost::cache {

enum class WantedText {
  kLine,   // the rest of a line
  kBody,   // the lines of a body that was opened and is empty
  kMember  // what a comment describes: the next declaration or statement
};

struct CursorPlace {
  WantedText wanted = WantedText::kLine;
  /// Columns of the line that opened the body, or of the comment: a line that is indented no further ends a
  /// body, one that is indented less ends a member.
  std::size_t indent = 0;
};

/// `offset` is within the text (line ends "\n"). A parser that takes more than `budget` of its thread's time
/// is not waited for.
[[nodiscard]] CursorPlace cursor_place(std::string_view path, std::string_view text, std::size_t offset,
                                       std::chrono::milliseconds budget);

inline constexpr std::size_t kTabColumns = 4;
/// Columns of the white space that a line begins with; a tab goes on to the next multiple of kTabColumns.
[[nodiscard]] std::size_t indent_of(std::string_view line);

}  // namespace kvboost::cache
