// SPDX-License-Identifier: Apache-2.0
#include "engine/tokenizer/compose.h"

#include <utf8proc.h>

#include <cstdlib>
#include <memory>

namespace kvboost::engine {
namespace {

// Ordering combining marks takes time quadratic in their number.
constexpr std::size_t kLongestPiece = 4096;

/// Whether this is the first byte of a character that composes with none before it: those below U+0300, and
/// the ideographs from U+4000 to U+9FFF.
bool starts_piece(char first) {
  const auto byte = static_cast<unsigned char>(first);
  return byte < 0x80 || (byte >= 0xC2 && byte < 0xCC) || (byte >= 0xE4 && byte <= 0xE9);
}

std::size_t next_piece(std::string_view text, std::size_t at) {
  do ++at;
  while (at < text.size() && !starts_piece(text[at]));
  return at;
}

void append_composed(std::string& out, std::string_view piece) {
  const bool one_character = static_cast<unsigned char>(piece.back()) < 0x80 || piece.size() <= 2;
  if (!one_character && piece.size() <= kLongestPiece) {
    utf8proc_uint8_t* composed = nullptr;
    const auto length = utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(piece.data()),
                                     static_cast<utf8proc_ssize_t>(piece.size()), &composed,
                                     static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE));
    const std::unique_ptr<utf8proc_uint8_t, decltype(&std::free)> owner(composed, &std::free);
    if (length >= 0) {
      out.append(reinterpret_cast<const char*>(composed), static_cast<std::size_t>(length));
      return;
    }
  }
  out += piece;
}

}  // namespace

std::string compose(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t next = next_piece(text, at);
    append_composed(out, text.substr(at, next - at));
    at = next;
  }
  return out;
}

}  // namespace kvboost::engine
