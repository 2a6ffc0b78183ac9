// SPDX-License-Identifier: Apache-2.0
#include "base/bytes.h"

#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdio>

namespace kvboost {

Result<std::span<const std::byte>> ByteReader::take(std::uint64_t count) {
  if (count > remaining()) {
    return fail(ErrorCode::kCorrupt, "needs " + std::to_string(count) + " bytes at offset " +
                                         std::to_string(offset_) + ", has " + std::to_string(remaining()));
  }
  const auto part = bytes_.subspan(offset_, static_cast<std::size_t>(count));
  offset_ += static_cast<std::size_t>(count);
  return part;
}

Result<std::string_view> ByteReader::take_text(std::uint64_t count) {
  auto part = take(count);
  if (!part) return fail(part.error());
  return std::string_view(reinterpret_cast<const char*>(part->data()), part->size());
}

Result<std::uint64_t> parse_size(std::string_view text) {
  const auto bad = [&] {
    return fail(ErrorCode::kInvalidArgument, "'" + std::string(text) + "' is not a size",
                "write bytes or a number with K, M, G or T, such as 512M or 5G");
  };
  double number = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (status != std::errc() || !std::isfinite(number) || number < 0) return bad();
  std::string_view unit(end, text.data() + text.size());
  double factor = 1;
  if (!unit.empty()) {
    constexpr std::string_view kUnits = "KMGT";
    const char letter = static_cast<char>(std::toupper(static_cast<unsigned char>(unit.front())));
    if (const auto power = kUnits.find(letter); power != std::string_view::npos) {
      unit.remove_prefix(1);
      const bool binary = unit.starts_with('i');  // 1 GiB is 1024 MiB
      if (binary) unit.remove_prefix(1);
      factor = std::pow(binary ? 1024.0 : 1000.0, static_cast<double>(power + 1));
    }
    if (unit == "B" || unit == "b") unit.remove_prefix(1);
    if (!unit.empty()) return bad();
  }
  const double bytes = number * factor;
  if (bytes >= 9.2e18) return bad();
  return static_cast<std::uint64_t>(bytes);
}

std::string human_size(std::uint64_t bytes) {
  static constexpr std::array<const char*, 5> kUnits = {"B", "kB", "MB", "GB", "TB"};
  double value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (value >= 999.5 && unit + 1 < kUnits.size()) {
    value /= 1000;
    ++unit;
  }
  std::array<char, 32> text;
  std::snprintf(text.data(), text.size(), unit == 0 || value >= 99.95 ? "%.0f %s" : "%.1f %s", value,
                kUnits[unit]);
  return text.data();
}

}  // namespace kvboost
