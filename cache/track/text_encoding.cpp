// SPDX-License-Identifier: Apache-2.0
#include "cache/track/text_encoding.h"

#include <cstdint>
#include <cstring>

namespace kvboost::cache {
namespace {

// Length of the well-formed character at `at` (Unicode 15, table 3-7), or 0.
std::size_t character_length(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) {
    return at + i < text.size() ? static_cast<unsigned char>(text[at + i]) : static_cast<unsigned char>(0);
  };
  const auto continues = [&](std::size_t i) { return (byte(i) & 0xC0) == 0x80; };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return 1;
  if (lead >= 0xC2 && lead <= 0xDF) return continues(1) ? 2 : 0;
  if (lead >= 0xE0 && lead <= 0xEF) {
    if (lead == 0xE0 && byte(1) < 0xA0) return 0;  // overlong
    if (lead == 0xED && byte(1) > 0x9F) return 0;  // surrogate
    return continues(1) && continues(2) ? 3 : 0;
  }
  if (lead >= 0xF0 && lead <= 0xF4) {
    if (lead == 0xF0 && byte(1) < 0x90) return 0;  // overlong
    if (lead == 0xF4 && byte(1) > 0x8F) return 0;  // above U+10FFFF
    return continues(1) && continues(2) && continues(3) ? 4 : 0;
  }
  return 0;
}

void append_utf8(std::string& out, std::uint32_t code) {
  const auto tail = [&](unsigned shift) { out += static_cast<char>(0x80 | ((code >> shift) & 0x3F)); };
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xC0 | (code >> 6));
    tail(0);
  } else if (code < 0x10000) {
    out += static_cast<char>(0xE0 | (code >> 12));
    tail(6);
    tail(0);
  } else {
    out += static_cast<char>(0xF0 | (code >> 18));
    tail(12);
    tail(6);
    tail(0);
  }
}

Result<std::string> from_utf16(std::string_view bytes, bool big_endian) {
  const auto unit = [&](std::size_t at) -> std::uint32_t {
    const auto first = static_cast<unsigned char>(bytes[at]);
    const auto second = static_cast<unsigned char>(bytes[at + 1]);
    return big_endian ? (first << 8U) | second : (second << 8U) | first;
  };
  if (bytes.size() % 2 != 0)
    return fail(ErrorCode::kInvalidArgument, "ill-formed UTF-16 (an odd number of bytes)");
  std::string out;
  out.reserve(bytes.size());
  for (std::size_t at = 0; at < bytes.size(); at += 2) {
    std::uint32_t code = unit(at);
    if (code == 0)
      return fail(ErrorCode::kInvalidArgument, "binary (a NUL at offset " + std::to_string(at + 2) + ")");
    if (code >= 0xD800 && code <= 0xDFFF) {
      const std::uint32_t low = code < 0xDC00 && at + 4 <= bytes.size() ? unit(at + 2) : 0;
      if (low < 0xDC00 || low > 0xDFFF) {
        return fail(ErrorCode::kInvalidArgument,
                    "ill-formed UTF-16 (half a pair at offset " + std::to_string(at + 2) + ")");
      }
      code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
      at += 2;
    }
    append_utf8(out, code);
  }
  return out;
}

}  // namespace

std::size_t utf8_prefix(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    std::uint64_t eight = 0;
    if (at + sizeof(eight) <= text.size()) {
      std::memcpy(&eight, text.data() + at, sizeof(eight));
      if ((eight & 0x8080808080808080ULL) == 0) {
        at += sizeof(eight);
        continue;
      }
    }
    const std::size_t length = character_length(text, at);
    if (length == 0) return at;
    at += length;
  }
  return text.size();
}

Result<std::string> to_utf8(std::string bytes) {
  if (bytes.starts_with("\xFF\xFE")) return from_utf16(std::string_view(bytes).substr(2), false);
  if (bytes.starts_with("\xFE\xFF")) return from_utf16(std::string_view(bytes).substr(2), true);
  if (bytes.starts_with("\xEF\xBB\xBF")) bytes.erase(0, 3);
  const std::size_t nul = bytes.find('\0');
  if (nul != std::string::npos) {
    return fail(ErrorCode::kInvalidArgument, "binary (a NUL byte at offset " + std::to_string(nul) + ")");
  }
  const std::size_t good = utf8_prefix(bytes);
  if (good < bytes.size()) {
    return fail(ErrorCode::kInvalidArgument, "not UTF-8 (from offset " + std::to_string(good) + " on)");
  }
  return bytes;
}

}  // namespace kvboost::cache
