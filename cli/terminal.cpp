// SPDX-License-Identifier: Apache-2.0
#include "cli/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <clocale>
#include <cstdint>
#include <cstdlib>
#include <cwchar>

namespace kvboost::cli {
namespace {

using namespace std::chrono_literals;

constexpr auto kProgressPause = 100ms;
constexpr std::string_view kClearLine = "\r\x1b[K";

bool is_set(const char* variable) {
  const char* text = std::getenv(variable);
  return text != nullptr && *text != '\0';
}

bool wants_colours(bool interactive, std::string_view color) {
  if (color == "always") return true;
  if (color == "never") return false;
  const char* kind = std::getenv("TERM");
  return interactive && !is_set("NO_COLOR") && kind != nullptr && std::string_view(kind) != "dumb";
}

std::string_view code_of(Style style) {
  switch (style) {
    case Style::kPlain:
      return "";
    case Style::kStrong:
      return "\x1b[1m";
    case Style::kFaint:
      return "\x1b[2m";
    case Style::kGood:
      return "\x1b[32m";
    case Style::kWarning:
      return "\x1b[33m";
    case Style::kBad:
      return "\x1b[31m";
  }
  return "";
}

/// Length of the well-formed UTF-8 character at the front of `text` and its code point; length 0 if there is
/// none.
struct Character {
  std::size_t length = 0;
  char32_t code = 0;
};

Character first_character(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned lead = byte(0);
  if (lead < 0x80) return {1, lead};
  const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || length > text.size()) return {};
  char32_t code = lead & (0x7FU >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0U) != 0x80) return {};
    code = (code << 6U) | (byte(i) & 0x3FU);
  }
  constexpr std::array<char32_t, 5> kSmallest = {0, 0, 0x80, 0x800, 0x10000};
  if (code < kSmallest[length] || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) return {};
  return {length, code};
}

bool is_control(char32_t code) {
  return code < 0x20 || (code >= 0x7F && code < 0xA0);
}

void append_hex(std::string& out, std::string_view bytes) {
  for (const char c : bytes) {
    std::array<char, 8> text;
    std::snprintf(text.data(), text.size(), "\\x%02x", static_cast<unsigned>(static_cast<unsigned char>(c)));
    out += text.data();
  }
}

/// wcwidth needs a Unicode locale; ours is the process's only use of one.
int column_count(char32_t code) {
  static const bool kUnicode = std::setlocale(LC_CTYPE, "C.UTF-8") != nullptr;
  return kUnicode ? std::max(::wcwidth(static_cast<wchar_t>(code)), 0) : 1;
}

}  // namespace

Terminal::Terminal(std::FILE* stream, std::string_view color)
    : stream_(stream),
      interactive_(::isatty(::fileno(stream)) == 1),
      colours_(wants_colours(interactive_, color)) {}

int Terminal::width() const {
  winsize size{};
  if (interactive_ && ::ioctl(::fileno(stream_), TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
    return size.ws_col;
  return 80;
}

std::string Terminal::paint(Style style, std::string_view text) const {
  if (!colours_ || style == Style::kPlain) return std::string(text);
  return std::string(code_of(style)) + std::string(text) + "\x1b[0m";
}

bool Terminal::put(std::string_view bytes) {
  if (!open_) return false;
  open_ = std::fwrite(bytes.data(), 1, bytes.size(), stream_) == bytes.size() && std::fflush(stream_) == 0;
  return open_;
}

bool Terminal::write(std::string_view text) {
  end_progress();
  return interactive_ ? put(printable(text, true)) : put(text);
}

bool Terminal::write_painted(std::string_view text) {
  end_progress();
  return put(text);
}

bool Terminal::write_line(std::string_view text) {
  return write_painted(std::string(text) + "\n");
}

void Terminal::progress(std::string_view text) {
  if (!interactive_) return;
  const auto now = std::chrono::steady_clock::now();
  if (progress_shown_ && now - last_progress_ < kProgressPause) return;
  last_progress_ = now;
  std::string line = printable(text);
  while (!line.empty() && display_width(line) >= width())
    line.pop_back();  // a wrapped line could not be cleared
  progress_shown_ = put(std::string(kClearLine) + line);
}

void Terminal::end_progress() {
  if (!progress_shown_) return;
  progress_shown_ = false;
  put(kClearLine);
}

std::string printable(std::string_view text, bool multiline) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const Character character = first_character(text);
    const std::string_view bytes = text.substr(0, std::max<std::size_t>(character.length, 1));
    const bool layout = multiline && (character.code == '\n' || character.code == '\t');
    if (character.length == 0 || (is_control(character.code) && !layout)) {
      append_hex(out, bytes);
    } else {
      out += bytes;
    }
    text.remove_prefix(bytes.size());
  }
  return out;
}

int display_width(std::string_view text) {
  int columns = 0;
  while (!text.empty()) {
    if (text.starts_with("\x1b[")) {
      const auto end = text.find('m');
      text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
      continue;
    }
    const Character character = first_character(text);
    columns += character.length == 0 ? 1 : column_count(character.code);
    text.remove_prefix(std::max<std::size_t>(character.length, 1));
  }
  return columns;
}

}  // namespace kvboost::cli
