// SPDX-License-Identifier: Apache-2.0
// answer: a plan in, tokens out. The last arrow of a request's way (docs/design.md): it finds what is already
// computed, reads the rest and generates. Engine thread only.
#pragma once

#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include "base/error.h"
#include "daemon/pipeline/live_sequences.h"
#include "daemon/pipeline/plan_reader.h"
#include "daemon/prompt/prompt_plan.h"
#include "engine/engine.h"

namespace kvboost::daemon {

struct AnswerRequest {
  const PromptPlan* plan = nullptr;  // borrowed for the call
  const Reuse* reuse = nullptr;      // borrowed for the call; null: no stored block is used
  bool fresh = false;                // no live sequence is gone on from, and none is left
  engine::GenerateParams generate;
  std::function<void(std::int32_t done, std::int32_t total)>
      progress;  // prompt tokens read, of those to read
  engine::TokenSink sink;
  std::stop_token stop;
};

struct Answered {
  std::string text;
  engine::Generated generated;
  std::int32_t prompt_tokens = 0;
  std::int32_t reused_tokens = 0;  // live, or placed from stored blocks
  std::int32_t repaired_tokens = 0;
  PlanRead read;
  double decode_ms = 0;

  /// Of the answer; 0 where none was written.
  [[nodiscard]] double tokens_per_second() const {
    return decode_ms > 0 ? 1000.0 * static_cast<double>(generated.tokens.size()) / decode_ms : 0;
  }
};

[[nodiscard]] Result<Answered> answer(engine::Engine& engine, LiveSequences& live,
                                      const AnswerRequest& request);

}  // namespace kvboost::daemon
