// SPDX-License-Identifier: Apache-2.0
#include "engine/tokenizer/utf8.h"

#include <boost/locale/utf.hpp>
#include <cstring>
#include <iterator>

namespace kvboost::engine {
namespace {

using Utf8 = boost::locale::utf::utf_traits<char>;

/// How many bytes at the front of `text` are ASCII, counted in whole words of eight.
std::size_t ascii_words(std::string_view text) {
  std::size_t at = 0;
  for (; at + sizeof(std::uint64_t) <= text.size(); at += sizeof(std::uint64_t)) {
    std::uint64_t word;
    std::memcpy(&word, text.data() + at, sizeof word);
    if ((word & 0x8080808080808080ULL) != 0) break;
  }
  return at;
}

}  // namespace

Utf8Character read_character(std::string_view bytes) {
  const char* at = bytes.data();
  const auto code = Utf8::decode(at, bytes.data() + bytes.size());
  if (code == boost::locale::utf::incomplete) return {Utf8Start::kUnfinished, 0, 0};
  if (code == boost::locale::utf::illegal) return {Utf8Start::kIllFormed, 0, 0};
  return {Utf8Start::kCharacter, static_cast<char32_t>(code), static_cast<std::size_t>(at - bytes.data())};
}

std::size_t well_formed_prefix(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    if (const std::size_t ascii = ascii_words(text.substr(at)); ascii > 0) {
      at += ascii;
      continue;
    }
    const Utf8Character character = read_character(text.substr(at));
    if (character.start != Utf8Start::kCharacter) break;
    at += character.length;
  }
  return at;
}

std::size_t first_character(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text.front());
  return lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
}

void append_utf8(std::string& out, char32_t code_point) {
  Utf8::encode(static_cast<boost::locale::utf::code_point>(code_point), std::back_inserter(out));
}

}  // namespace kvboost::engine
