// SPDX-License-Identifier: Apache-2.0
#include "cache/rank/words.h"

#include <array>
#include <cstdint>

#include "cache/rank/bm25.h"

namespace kvboost::cache {
namespace {

enum class CharKind : std::uint8_t { kSeparator, kLower, kUpper, kDigit, kUnderscore, kUnspaced, kHighByte };

struct Character {
  char32_t code = 0;
  std::size_t length = 1;
  CharKind kind = CharKind::kSeparator;
};

constexpr std::array<CharKind, 256> kByteKinds = [] {
  std::array<CharKind, 256> kinds{};
  for (int c = 'a'; c <= 'z'; ++c) kinds[static_cast<std::size_t>(c)] = CharKind::kLower;
  for (int c = 'A'; c <= 'Z'; ++c) kinds[static_cast<std::size_t>(c)] = CharKind::kUpper;
  for (int c = '0'; c <= '9'; ++c) kinds[static_cast<std::size_t>(c)] = CharKind::kDigit;
  kinds['_'] = CharKind::kUnderscore;
  for (std::size_t c = 0x80; c < 0x100; ++c) kinds[c] = CharKind::kHighByte;
  return kinds;
}();

struct Range {
  char32_t first, last;
};

// Punctuation, symbols and private use above ASCII; all other characters count as letters.
constexpr Range kSeparators[] = {{0x80, 0xA9},     {0xAB, 0xB4},     {0xB6, 0xB9},      {0xBB, 0xBF},
                                 {0xD7, 0xD7},     {0xF7, 0xF7},     {0x2000, 0x206F},  {0x20A0, 0x20CF},
                                 {0x2100, 0x2BFF}, {0x3000, 0x303F}, {0xD800, 0xF8FF},  {0xFE30, 0xFE6F},
                                 {0xFEFF, 0xFEFF}, {0xFF00, 0xFF0F}, {0xFF1A, 0xFF20},  {0xFF3B, 0xFF40},
                                 {0xFF5B, 0xFF65}, {0xFFE0, 0xFFFF}, {0x1F000, 0x1FAFF}};

constexpr Range kUnspacedScripts[] = {{0xE00, 0xE7F},   {0x3040, 0x312F},  {0x3400, 0x4DBF},
                                      {0x4E00, 0x9FFF}, {0xAC00, 0xD7AF},  {0xF900, 0xFAFF},
                                      {0xFF66, 0xFF9F}, {0x20000, 0x3FFFF}};

template <std::size_t N>
bool in(const Range (&ranges)[N], char32_t code) {
  for (const Range& range : ranges) {
    if (code >= range.first && code <= range.last) return true;
  }
  return false;
}

// Lower case of the two-byte letters (Latin, Greek, Cyrillic) whose lower case is two bytes long as well, so
// that a lowered text keeps its offsets.
char32_t lower_case(char32_t code) {
  if ((code >= 0xC0 && code <= 0xDE && code != 0xD7) || (code >= 0x391 && code <= 0x3A9) ||
      (code >= 0x410 && code <= 0x42F)) {
    return code + 32;
  }
  if (code >= 0x400 && code <= 0x40F) return code + 80;
  if ((code >= 0x100 && code <= 0x12F) || (code >= 0x132 && code <= 0x137) ||
      (code >= 0x14A && code <= 0x177)) {
    return code | 1;
  }
  if ((code >= 0x139 && code <= 0x148) || (code >= 0x179 && code <= 0x17E)) return code + (code & 1);
  return code;
}

// The character at `at`; an ill-formed byte is a separator of length 1.
Character decode(std::string_view text, std::size_t at) {
  const auto lead = static_cast<unsigned char>(text[at]);
  if (lead < 0x80) return {lead, 1, kByteKinds[lead]};
  const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || at + length > text.size()) return {};
  char32_t code = lead & (0x7FU >> length);
  for (std::size_t i = 1; i < length; ++i) {
    const auto byte = static_cast<unsigned char>(text[at + i]);
    if ((byte & 0xC0) != 0x80) return {};
    code = (code << 6) | (byte & 0x3FU);
  }
  CharKind kind = CharKind::kLower;
  if (in(kSeparators, code)) {
    kind = CharKind::kSeparator;
  } else if (in(kUnspacedScripts, code)) {
    kind = CharKind::kUnspaced;
  } else if (lower_case(code) != code) {
    kind = CharKind::kUpper;
  }
  return {code, length, kind};
}

bool is_identifier(CharKind kind) {
  return kind >= CharKind::kLower && kind <= CharKind::kUnderscore;
}

void append_lower(std::string& out, std::string_view bytes, const Character& character) {
  if (character.kind != CharKind::kUpper) {
    out += bytes;
  } else if (character.length == 1) {
    out += static_cast<char>(bytes[0] | 0x20);
  } else {
    const char32_t lower = lower_case(character.code);
    out += static_cast<char>(0xC0 | (lower >> 6));
    out += static_cast<char>(0x80 | (lower & 0x3F));
  }
}

}  // namespace

void WordReader::read(std::string_view text, const Sink& sink) {
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t begin = at;
    Character character = decode(text, at);
    const bool unspaced_run = character.kind == CharKind::kUnspaced;
    if (!unspaced_run && !is_identifier(character.kind)) {
      at += character.length;
      continue;
    }
    do {
      at += character.length;
      if (at >= text.size()) break;
      character = decode(text, at);
    } while (unspaced_run ? character.kind == CharKind::kUnspaced : is_identifier(character.kind));
    if (unspaced_run) {
      unspaced(text.substr(begin, at - begin), sink);
    } else if (at - begin <= kLongestWord) {
      identifier(text.substr(begin, at - begin), sink);
    }
  }
}

void WordReader::identifier(std::string_view whole, const Sink& sink) {
  lower_.clear();
  std::array<std::uint8_t, kLongestWord + 1> cuts;  // where parts begin; a part ends where the next begins
  std::size_t n_cuts = 0;
  CharKind before = CharKind::kUnderscore;
  std::size_t before_at = 0;
  for (std::size_t at = 0; at < whole.size();) {
    const Character character = decode(whole, at);
    const CharKind kind = character.kind;
    const bool camel = before == CharKind::kUpper && kind == CharKind::kLower;  // the capital begins the part
    if (camel) {
      if (n_cuts == 0 || cuts[n_cuts - 1] != before_at) cuts[n_cuts++] = static_cast<std::uint8_t>(before_at);
    } else if (kind != before) {
      cuts[n_cuts++] = static_cast<std::uint8_t>(at);
    }
    append_lower(lower_, whole.substr(at, character.length), character);
    before = kind;
    before_at = at;
    at += character.length;
  }
  if (n_cuts == 0) return;  // underscores only
  sink(lower_);
  if (n_cuts == 1 && cuts[0] == 0) return;
  cuts[n_cuts] = static_cast<std::uint8_t>(whole.size());
  for (std::size_t i = 0; i < n_cuts; ++i) {
    const std::string_view part = std::string_view(lower_).substr(cuts[i], cuts[i + 1] - cuts[i]);
    if (part.size() > 1 && part[0] != '_') sink(part);
  }
}

void WordReader::unspaced(std::string_view run, const Sink& sink) {
  std::size_t first = 0;
  std::size_t second = decode(run, 0).length;
  if (second == run.size()) sink(run);
  while (second < run.size()) {
    const std::size_t end = second + decode(run, second).length;
    sink(run.substr(first, end - first));
    first = second;
    second = end;
  }
}

std::vector<std::string> words(std::string_view text) {
  std::vector<std::string> all;
  WordReader().read(text, [&](std::string_view word) { all.emplace_back(word); });
  return all;
}

}  // namespace kvboost::cache
