// SPDX-License-Identifier: Apache-2.0
// BenchModel: a loaded model as the daemon would have it, and one prompt read by it, timed as a request is:
// look-up, loading, placing, repair and reading until the first token is chosen. One thread (the engine's).
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/error.h"
#include "bench/engine_bench.h"
#include "bench/reuse_figures.h"
#include "daemon/pipeline/block_cache.h"
#include "daemon/pipeline/file_blocks.h"
#include "daemon/pipeline/live_sequences.h"
#include "daemon/pipeline/model_host.h"
#include "daemon/pipeline/plan_reader.h"
#include "daemon/pipeline/reuse_trial.h"
#include "daemon/prompt/chat_template.h"
#include "daemon/prompt/prompt_plan.h"
#include "engine/engine.h"

namespace kvboost::bench {

struct Reading {
  double ttft_ms = 0;
  std::int32_t tokens = 0;    // of the prompt
  std::int32_t reused = 0;    // live or loaded
  std::int32_t repaired = 0;  // of header and files: computed, or recomputed once they were loaded
  daemon::PlanRead read;
  engine::TokenId first = 0;  // the likeliest token
  engine::LogProbabilities log_probabilities;
  std::vector<engine::TokenId> greedy;  // the answer's first tokens, as many as were wanted
};

class BenchModel {
 public:
  [[nodiscard]] static Result<BenchModel> load(const EngineBench& bench);

  [[nodiscard]] daemon::LoadedModel& loaded() const { return *model_; }
  [[nodiscard]] engine::Engine& engine() const { return *model_->engine; }
  [[nodiscard]] const daemon::ChatTemplate& chat() const { return model_->chat; }
  [[nodiscard]] const Digest& fingerprint() const { return model_->names->model; }
  [[nodiscard]] const Digest& context() const { return model_->names->context; }
  /// What the live KV is kept in: "bf16" or "f32".
  [[nodiscard]] const char* live_codec() const;

  /// The cheapest repair that keeps this model's answers within `tolerance` (nats) of a full read's, by a
  /// trial as the daemon makes it. It tells its progress on stderr.
  [[nodiscard]] Result<std::optional<daemon::RepairPolicy>> tried_policy(daemon::Behind behind,
                                                                         double tolerance) const;

  /// Nothing live.
  [[nodiscard]] daemon::LiveSequences no_live() const { return {engine(), 1, ~0ULL}; }

  /// Reads the parts, the header first, and gives what is to be stored of them.
  [[nodiscard]] Result<daemon::CapturedRun> compute(const daemon::BlockGroup& group) const;

  /// Reads the prompt, going on from what is live, and writes `greedy` tokens behind it. Afterwards its
  /// sequence is live. `reuse` may be null.
  [[nodiscard]] Result<Reading> read(const daemon::PromptPlan& plan, const daemon::Reuse* reuse,
                                     daemon::LiveSequences& live, std::int32_t greedy) const;

 private:
  explicit BenchModel(std::unique_ptr<daemon::LoadedModel> model) : model_(std::move(model)) {}

  std::unique_ptr<daemon::LoadedModel> model_;  // what is lent of it stays where it is when this moves
};

}  // namespace kvboost::bench
