// SPDX-License-Identifier: Apache-2.0
// EditBuffer: an editor's text and the cursor in it. Line ends are "\n" within; the cursor stands on a
// character's boundary, wherever it was said to be. Immutable, any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace kvboost::daemon {

class EditBuffer {
 public:
  /// `offset`: bytes of `text` in front of the cursor; clamped to the text, and to the beginning of the
  /// character or line end that it lies in.
  EditBuffer(std::string_view text, std::int64_t offset);

  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] std::size_t offset() const { return offset_; }
  [[nodiscard]] std::string_view before() const { return std::string_view(text_).substr(0, offset_); }
  [[nodiscard]] std::string_view after() const { return std::string_view(text_).substr(offset_); }

  /// Of the cursor's line.
  [[nodiscard]] std::size_t line_begin() const;
  [[nodiscard]] std::string_view line_before() const { return before().substr(line_begin()); }
  [[nodiscard]] std::string_view line_after() const { return after().substr(0, after().find('\n')); }
  [[nodiscard]] std::int32_t line() const;  // from 1 on
  /// The nearest lines above and below it that show something; empty if there are none.
  [[nodiscard]] std::string_view line_above() const;
  [[nodiscard]] std::string_view line_below() const;

  /// The offset as it was taken, in bytes of the text that was given.
  [[nodiscard]] std::size_t given_offset() const { return given_offset_; }
  /// `text` with the buffer's own line ends.
  [[nodiscard]] std::string with_own_line_ends(std::string_view text) const;

  /// The buffer once `text` has been written at the cursor, and the cursor stands behind it.
  [[nodiscard]] EditBuffer with(std::string_view text) const;

 private:
  std::string text_;
  std::size_t offset_ = 0;
  std::size_t given_offset_ = 0;
  bool carriage_returns_ = false;
};

}  // namespace kvboost::daemon
