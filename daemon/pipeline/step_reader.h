// SPDX-License-Identifier: Apache-2.0
// read_in_steps: read_plan for prompts that are cancelled often, as by the next key: what has been computed
// when the stop comes stays, so that the next request goes on from there. Engine thread only.
#pragma once

#include <cstdint>

#include "base/error.h"
#include "daemon/pipeline/plan_reader.h"
#include "engine/engine.h"

namespace kvboost::daemon {

/// How much is computed in a step. It gets less with each reading that is stopped, so that the next one gets
/// on before it is stopped too.
class StepSize {
 public:
  [[nodiscard]] std::int32_t tokens() const { return tokens_; }
  /// Whether parts are cut where a step is full. Their blocks are not stored then.
  [[nodiscard]] bool cuts_parts() const { return tokens_ < kMost; }
  void note(bool stopped) { tokens_ = stopped ? (tokens_ > kLeast ? tokens_ / 2 : tokens_) : kMost; }

 private:
  // Few enough to be done between two keys, enough to be read at full speed.
  static constexpr std::int32_t kMost = 128, kLeast = 16;
  std::int32_t tokens_ = kMost;
};

/// As read_plan. When it fails, the sequence holds what whole steps have read, each good to go on from.
[[nodiscard]] Result<PlanRead> read_in_steps(engine::Engine& engine, engine::Sequence& sequence,
                                             const PlanReading& reading, const StepSize& size = {});

}  // namespace kvboost::daemon
