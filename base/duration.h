// SPDX-License-Identifier: Apache-2.0
// Durations as people write and read them ("10m", "1h30m"), and how long something took. Any thread.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "base/error.h"

namespace kvboost {

/// "90", "1.5s", "10m", "1h30m", "250ms", "7d" to seconds; a number alone is seconds.
[[nodiscard]] Result<double> parse_duration(std::string_view text);

/// Seconds for a person: "12 ms", "3.4 s", "5 min 20 s", "2 h 5 min", "3 d 4 h".
[[nodiscard]] std::string human_duration(double seconds);

using SteadyTime = std::chrono::steady_clock::time_point;

[[nodiscard]] inline double ms_between(SteadyTime from, SteadyTime to) {
  return std::chrono::duration<double, std::milli>(to - from).count();
}
[[nodiscard]] inline double ms_since(SteadyTime start) {
  return ms_between(start, std::chrono::steady_clock::now());
}
[[nodiscard]] inline double seconds_since(SteadyTime start) {
  return ms_since(start) / 1000;
}

}  // namespace kvboost
