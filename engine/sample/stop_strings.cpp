// SPDX-License-Identifier: Apache-2.0
#include "engine/sample/stop_strings.h"

#include <algorithm>
#include <utility>

namespace kvboost::engine {

StopStrings::StopStrings(std::vector<std::string> strings) : strings_(std::move(strings)) {
  std::erase_if(strings_, [](const std::string& s) { return s.empty(); });
}

StopStrings::Step StopStrings::push(std::string_view text) {
  held_ += text;
  auto first = std::string::npos;
  for (const auto& stop : strings_) first = std::min(first, held_.find(stop));
  if (first != std::string::npos) return {std::exchange(held_, {}).substr(0, first), true};

  // The longest tail that begins a stop string waits.
  std::size_t tail = 0;
  for (const auto& stop : strings_) {
    for (std::size_t n = std::min(stop.size() - 1, held_.size()); n > tail; --n) {
      if (held_.ends_with(std::string_view(stop).substr(0, n))) tail = n;
    }
  }
  Step step{held_.substr(0, held_.size() - tail), false};
  held_.erase(0, held_.size() - tail);
  return step;
}

std::string StopStrings::flush() {
  return std::exchange(held_, {});
}

}  // namespace kvboost::engine
