// SPDX-License-Identifier: Apache-2.0
// RepairPolicy: which tokens of placed blocks are recomputed, when what stands before them is not what they
// were computed behind. Plain values and pure functions, any thread.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace kvboost::daemon {

struct RepairPolicy {
  /// The first tokens of each run of chunks whose left context changed: they looked at what is gone.
  std::int32_t seam = 0;
  /// Share of the tokens of changed chunks: those that the question attends to most, 0 to 1.
  float guided = 0;
  /// Layers [first, end) whose attention guides, as shares of the model's.
  float first_layer = 0;
  float end_layer = 1;
};

/// Placed cells [first, first + n_tokens) that stand behind other tokens than their block did.
struct ChangedRun {
  std::int32_t first = 0;
  std::int32_t n_tokens = 0;
};

/// Cells to repair, ascending. `attention` as of Engine::attention_of; may be empty when nothing is guided.
[[nodiscard]] std::vector<std::int32_t> cells_to_repair(const RepairPolicy& policy,
                                                        std::span<const ChangedRun> changed,
                                                        std::span<const float> attention);

}  // namespace kvboost::daemon
