// SPDX-License-Identifier: Apache-2.0
#include "daemon/protocol/path_text.h"

#include <cstdint>
#include <nlohmann/json.hpp>

namespace kvboost::protocol {
namespace {

constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

std::string to_base64(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t group = 0;
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - i);
    for (std::size_t k = 0; k < 3; ++k) {
      group = group << 8 | (k < count ? static_cast<unsigned char>(bytes[i + k]) : 0U);
    }
    for (std::size_t k = 0; k < 4; ++k) {
      text.push_back(k <= count ? kAlphabet[group >> (18 - 6 * k) & 63] : '=');
    }
  }
  return text;
}

std::optional<std::string> from_base64(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  std::size_t padding = 0;
  while (padding < 2 && padding < text.size() && text[text.size() - 1 - padding] == '=') ++padding;
  text.remove_suffix(padding);
  std::string bytes;
  std::uint32_t bits = 0;
  int held = 0;
  for (const char letter : text) {
    const auto value = kAlphabet.find(letter);
    if (value == std::string_view::npos) return std::nullopt;
    bits = bits << 6 | static_cast<std::uint32_t>(value);
    held += 6;
    if (held >= 8) {
      held -= 8;
      bytes.push_back(static_cast<char>(bits >> held & 255));
    }
  }
  if ((bits & ((1U << held) - 1)) != 0) return std::nullopt;  // stray bits: not what an encoder writes
  return bytes;
}

}  // namespace

bool is_utf8(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  std::size_t i = 0;
  while (i < text.size()) {
    const unsigned lead = byte(i++);
    if (lead < 0x80) continue;
    const int more = lead >= 0xF0 ? 3 : lead >= 0xE0 ? 2 : 1;
    if (lead < 0xC2 || lead > 0xF4) return false;
    for (int k = 0; k < more; ++k, ++i) {
      if (i == text.size()) return false;
      unsigned low = 0x80;
      unsigned high = 0xBF;
      if (k == 0) {
        if (lead == 0xE0) low = 0xA0;
        if (lead == 0xED) high = 0x9F;
        if (lead == 0xF0) low = 0x90;
        if (lead == 0xF4) high = 0x8F;
      }
      if (byte(i) < low || byte(i) > high) return false;
    }
  }
  return true;
}

nlohmann::json encode_path(std::string_view path) {
  if (is_utf8(path)) return path;
  return {{"base64", to_base64(path)}};
}

std::optional<std::string> decode_path(const nlohmann::json& json) {
  if (json.is_string()) return json.get<std::string>();
  if (!json.is_object()) return std::nullopt;
  const auto text = json.find("base64");
  if (text == json.end() || !text->is_string()) return std::nullopt;
  return from_base64(text->get_ref<const std::string&>());
}

}  // namespace kvboost::protocol
