// SPDX-License-Identifier: Apache-2.0
#include "base/duration.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <utility>

namespace kvboost {
namespace {

constexpr double kLongest = 3.2e9;  // a century, in seconds

// "ms" stands before "m", or it would never be seen.
constexpr std::array<std::pair<std::string_view, double>, 5> kUnits = {
    {{"ms", 1e-3}, {"s", 1}, {"m", 60}, {"h", 3600}, {"d", 86400}}};

std::string two_units(std::int64_t big, const char* big_unit, std::int64_t small, const char* small_unit) {
  std::string text = std::to_string(big) + " " + big_unit;
  if (small > 0) text += " " + std::to_string(small) + " " + small_unit;
  return text;
}

}  // namespace

Result<double> parse_duration(std::string_view text) {
  const auto bad = [&] {
    return fail(ErrorCode::kInvalidArgument, "'" + std::string(text) + "' is not a duration",
                "write seconds, or a number with ms, s, m, h or d, such as 90s or 1h30m");
  };
  std::string_view rest = text;
  double seconds = 0;
  do {
    double number = 0;
    const auto [end, status] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
    if (status != std::errc() || !std::isfinite(number) || number < 0) return bad();
    rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
    const bool alone = rest.empty() && seconds == 0;
    const auto unit = std::ranges::find_if(kUnits, [&](const auto& u) { return rest.starts_with(u.first); });
    if (unit == kUnits.end() && !alone) return bad();
    seconds += alone ? number : number * unit->second;
    if (!alone) rest.remove_prefix(unit->first.size());
    if (seconds > kLongest) return bad();
  } while (!rest.empty());
  return seconds;
}

std::string human_duration(double seconds) {
  std::array<char, 32> text;
  if (!(seconds > 0)) return "0 s";
  if (seconds < 0.9995) {
    std::snprintf(text.data(), text.size(), seconds < 0.00995 ? "%.1f ms" : "%.0f ms", seconds * 1000);
    return text.data();
  }
  if (seconds < 59.95) {
    std::snprintf(text.data(), text.size(), "%.1f s", seconds);
    return text.data();
  }
  const auto whole = static_cast<std::int64_t>(std::llround(seconds));
  if (whole < 3600) return two_units(whole / 60, "min", whole % 60, "s");
  if (whole < 86400) return two_units(whole / 3600, "h", whole / 60 % 60, "min");
  return two_units(whole / 86400, "d", whole / 3600 % 24, "h");
}

}  // namespace kvboost
