// SPDX-License-Identifier: Apache-2.0
// Terminal: stdout or stderr, as far as a command cares: whether a person looks at it, how wide it is,
// whether it takes colours, and whether its reader is still there. One thread; the stream is borrowed.
#pragma once

#include <chrono>
#include <cstdio>
#include <string>
#include <string_view>

namespace kvboost::cli {

enum class Style { kPlain, kStrong, kFaint, kGood, kWarning, kBad };

class Terminal {
 public:
  /// `color` is the option: auto, always or never.
  Terminal(std::FILE* stream, std::string_view color);

  [[nodiscard]] bool interactive() const { return interactive_; }
  [[nodiscard]] int width() const;  // columns; 80 where nobody knows
  [[nodiscard]] std::string paint(Style style, std::string_view text) const;

  /// Writes at once. On a terminal, control characters come out visibly instead of taking effect: what a
  /// model or a file says must not steer the user's terminal. False once the reader has gone.
  bool write(std::string_view text);
  /// The same for text of our own, in which colours are meant.
  bool write_painted(std::string_view text);
  bool write_line(std::string_view text);

  /// Shows one line in place of the last one, at most ten times a second; nothing where nobody looks.
  void progress(std::string_view text);
  void end_progress();

 private:
  bool put(std::string_view bytes);

  std::FILE* stream_;
  bool interactive_ = false;
  bool colours_ = false;
  bool open_ = true;
  bool progress_shown_ = false;
  std::chrono::steady_clock::time_point last_progress_{};
};

/// `text` with control characters as "\x1b" and bytes that are not UTF-8 as "\xff"; newline and tab stay if
/// `multiline`.
[[nodiscard]] std::string printable(std::string_view text, bool multiline = false);

/// Columns that `text` takes, wide characters counted as two, colours as none.
[[nodiscard]] int display_width(std::string_view text);

}  // namespace kvboost::cli
