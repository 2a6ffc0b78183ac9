// SPDX-License-Identifier: Apache-2.0
#include "daemon/pipeline/repair_policy.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace kvboost::daemon {

std::vector<std::int32_t> cells_to_repair(const RepairPolicy& policy, std::span<const ChangedRun> changed,
                                          std::span<const float> attention) {
  std::vector<std::int32_t> chosen, others;
  for (const ChangedRun& run : changed) {
    for (std::int32_t i = 0; i < run.n_tokens; ++i)
      (i < policy.seam ? chosen : others).push_back(run.first + i);
  }
  const std::size_t all = chosen.size() + others.size();
  const auto wanted =
      std::min(others.size(), static_cast<std::size_t>(std::ceil(policy.guided * static_cast<float>(all))));
  if (wanted > 0 && !attention.empty()) {
    std::ranges::nth_element(others, others.begin() + static_cast<std::ptrdiff_t>(wanted) - 1,
                             [&](auto a, auto b) { return attention[a] > attention[b]; });
    chosen.insert(chosen.end(), others.begin(), others.begin() + static_cast<std::ptrdiff_t>(wanted));
  }
  std::ranges::sort(chosen);
  return chosen;
}

}  // namespace kvboost::daemon
