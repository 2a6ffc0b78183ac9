// SPDX-License-Identifier: Apache-2.0
#include "daemon/prompt/edit_buffer.h"

#include <algorithm>

#include "base/text.h"
#include "cache/chunk/line_ends.h"

namespace kvboost::daemon {
namespace {

constexpr std::string_view kBlanks = " \t\r\f\v";

bool is_blank(std::string_view line) {
  return line.find_first_not_of(kBlanks) == std::string_view::npos;
}

bool is_continuation(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U;
}

/// No character has more continuation bytes than three; more are no UTF-8, and each may stand alone.
std::size_t character_begin(std::string_view text, std::size_t at) {
  std::size_t begin = at;
  while (begin > 0 && at - begin < 3 && begin < text.size() && is_continuation(text[begin])) --begin;
  return begin < text.size() && is_continuation(text[begin]) ? at : begin;
}

}  // namespace

EditBuffer::EditBuffer(std::string_view text, std::int64_t offset) {
  given_offset_ = static_cast<std::size_t>(std::clamp<std::int64_t>(offset, 0, std::ssize(text)));
  given_offset_ = character_begin(text, given_offset_);
  const bool within_line_end = given_offset_ > 0 && given_offset_ < text.size() &&
                               text[given_offset_] == '\n' && text[given_offset_ - 1] == '\r';
  if (within_line_end) --given_offset_;
  carriage_returns_ = text.contains("\r\n");
  if (!carriage_returns_) {
    text_ = text;
    offset_ = given_offset_;
    return;
  }
  text_ = cache::with_unix_line_ends(text.substr(0, given_offset_));
  offset_ = text_.size();
  text_ += cache::with_unix_line_ends(text.substr(given_offset_));
}

std::size_t EditBuffer::line_begin() const {
  const std::size_t end = before().rfind('\n');
  return end == std::string_view::npos ? 0 : end + 1;
}

std::int32_t EditBuffer::line() const {
  return line_number(text_, offset_);
}

std::string_view EditBuffer::line_above() const {
  std::string_view rest = std::string_view(text_).substr(0, line_begin());
  while (!rest.empty()) {
    rest.remove_suffix(1);  // the line end
    const std::size_t end = rest.rfind('\n');
    const std::size_t begin = end == std::string_view::npos ? 0 : end + 1;
    if (!is_blank(rest.substr(begin))) return rest.substr(begin);
    rest = rest.substr(0, begin);
  }
  return {};
}

std::string_view EditBuffer::line_below() const {
  std::string_view rest = after();
  while (true) {
    const std::size_t end = rest.find('\n');
    if (end == std::string_view::npos) return {};
    rest.remove_prefix(end + 1);
    const std::string_view line = rest.substr(0, rest.find('\n'));
    if (!is_blank(line)) return line;
  }
}

std::string EditBuffer::with_own_line_ends(std::string_view text) const {
  if (!carriage_returns_) return std::string(text);
  std::string converted;
  for (const char c : text) {
    if (c == '\n') converted += '\r';
    converted += c;
  }
  return converted;
}

EditBuffer EditBuffer::with(std::string_view text) const {
  EditBuffer after = *this;
  after.text_.insert(offset_, text);
  after.offset_ += text.size();
  after.given_offset_ += with_own_line_ends(text).size();
  return after;
}

}  // namespace kvboost::daemon
