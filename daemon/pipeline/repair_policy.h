// SPDX-License-Identifier: Apache-2.0
// RepairPolicy: which tokens of placed blocks are recomputed, when what stands before them is not what they
// were computed behind. Plain values and pure functions, any thread.
//
//   name   := "exact" | "none" | part *("+" part)        each kind of part once
//   part   := "seam:" TOKENS | "guided:" SHARE [":" FIRST "-" END] | "blend:" SHARE [":cosine"]
//
// TOKENS: 1 and more. SHARE: above 0, at most 1. FIRST, END: shares of the model's layers.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace kvboost::daemon {

struct RepairPolicy {
  /// The first tokens of each run of chunks whose left context changed: they looked at what is gone.
  std::int32_t seam = 0;
  /// Share of the tokens of changed chunks: those that the question attends to most, 0 to 1.
  float guided = 0;
  /// Layers [first, end) whose attention guides, as shares of the model's.
  float first_layer = 0;
  float end_layer = 1;
  /// Share of them whose values in the second layer are farthest from what they would be here, 0 to 1
  /// (CacheBlend); by the L2 norm, or by the cosine.
  float blend = 0;
  bool cosine = false;

  bool operator==(const RepairPolicy&) const = default;
};

/// By its name. "exact" has no value: only blocks that need no repair are placed. kInvalidArgument.
[[nodiscard]] Result<std::optional<RepairPolicy>> parse_repair_policy(std::string_view name);

/// The shortest name that parse_repair_policy understands as this policy.
[[nodiscard]] std::string repair_policy_name(const std::optional<RepairPolicy>& policy);

/// Placed cells [first, first + n_tokens) that stand behind other tokens than their block did.
struct ChangedRun {
  std::int32_t first = 0;
  std::int32_t n_tokens = 0;
};

/// What is known of a sequence's cells before any is repaired; each may be empty when the policy does not ask
/// for it.
struct CellScores {
  std::span<const float> attention;  // by cell, as of Engine::attention_of
  std::span<const float> deviation;  // as of Engine::deviation_of, by cell too; 0 where nothing changed
};

/// Cells to repair, ascending.
[[nodiscard]] std::vector<std::int32_t> cells_to_repair(const RepairPolicy& policy,
                                                        std::span<const ChangedRun> changed,
                                                        const CellScores& scores);

}  // namespace kvboost::daemon
