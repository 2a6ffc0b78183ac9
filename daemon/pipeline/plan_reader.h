// SPDX-License-Identifier: Apache-2.0
// read_plan: brings a plan's tokens into a sequence. Parts whose block is stored are placed, all others are
// computed, in as few runs as that leaves; the blocks of what was computed are handed to the cache, which
// puts them away behind the request. With a repair policy, blocks that were computed behind other text are
// placed too, and some of their tokens recomputed together with the text behind the last chunk. Engine thread
// only.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <stop_token>
#include <vector>

#include "base/error.h"
#include "daemon/pipeline/block_cache.h"
#include "daemon/pipeline/repair_policy.h"
#include "daemon/prompt/prompt_plan.h"
#include "engine/engine.h"

namespace kvboost::daemon {

/// The cache, and for which model and header it is asked.
struct Reuse {
  BlockCache* blocks = nullptr;
  Digest model;    // fingerprint
  Digest context;  // cache::key_context
  // With `repair`, blocks are placed that were computed behind other text; with `repair_near`, those of them
  // that were computed behind neighbours. Where a plan has both kinds, the first one repairs them.
  std::optional<RepairPolicy> repair{};
  bool prefix_only = false;  // no block is placed behind something that had to be computed
  std::optional<RepairPolicy> repair_near{};
  Digest neighbours{};  // NeighbourRun::end; zeros: there are none

  /// For blocks that were computed behind neighbours, or for others.
  [[nodiscard]] const std::optional<RepairPolicy>& policy(bool near) const {
    return near && repair_near ? repair_near : repair;
  }
  /// Whether the block that was found for a part may be placed.
  [[nodiscard]] bool places(Match match, bool near) const {
    return match == Match::kExact || (match == Match::kApproximate && policy(near));
  }
};

struct PlanReading {
  const PromptPlan* plan = nullptr;  // borrowed for the call
  const Reuse* reuse = nullptr;      // null: nothing but the live sequence is reused
  /// Tokens computed, of those to compute.
  std::function<void(std::int32_t done, std::int32_t total)> progress{};
  std::stop_token stop{};
};

/// Tokens of one part, by where their KV came from.
struct PartRead {
  Match match = Match::kMiss;
  std::int32_t live = 0;
  std::int32_t loaded = 0;
  std::int32_t computed = 0;
  std::int32_t repaired = 0;  // of the loaded ones, and of those computed behind such
  std::uint64_t bytes = 0;    // of the loaded block, as it stands in the sequence
  double ms = 0;              // of loading, computing and repairing it
};

struct PlanRead {
  std::vector<PartRead> parts;
  double load_ms = 0;
  double select_ms = 0;  // finding what the question attends to
  double prefill_ms = 0;
  std::int32_t exact_tokens = 0;  // up to here the sequence is what a full read gives
  bool near = false;              // what was repaired was by Reuse::repair_near
};

/// `sequence` holds a prefix of the plan's tokens, shorter than the plan, and afterwards all of them, with
/// logits. When it fails, it holds what was read before.
[[nodiscard]] Result<PlanRead> read_plan(engine::Engine& engine, engine::Sequence& sequence,
                                         const PlanReading& reading);

}  // namespace kvboost::daemon
