// SPDX-License-Identifier: Apache-2.0
// ReuseTrial: what reuse does to a model's answers, measured. Built-in prompts over built-in files are read
// in full and from stored blocks, under one repair policy after the other, and the probabilities of the
// answer's first tokens are compared (Kullback-Leibler divergence, nats). In steps that can be stopped and
// done again, so that requests overtake it. Made anywhere; `step` on the engine thread only.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "daemon/pipeline/block_cache.h"
#include "daemon/pipeline/file_blocks.h"
#include "daemon/pipeline/model_host.h"
#include "daemon/pipeline/neighbour_run.h"
#include "daemon/pipeline/repair_policy.h"

namespace kvboost::daemon {

/// What stands before a file when its blocks are computed: the header alone, or neighbours behind it.
enum class Behind { kHeader, kNeighbours };
[[nodiscard]] std::string_view to_string(Behind behind);

/// What one policy gave, over all prompts.
struct PolicyTrial {
  RepairPolicy policy;
  double kl_mean = 0;
  double kl_worst = 0;  // of a prompt
  double top1 = 0;      // share of tokens whose likeliest successor stayed the same
  double computed = 0;  // share of the prompts' tokens that went through the layers: question, repaired ones
  double ratio = 0;     // of the times to the first token: full read to this
};

/// From the cheapest on. The dear ones are there for models that forgive little.
[[nodiscard]] std::vector<RepairPolicy> policies_to_try();

/// The first of them, from the cheapest on, whose mean divergence is at most `tolerance`.
[[nodiscard]] std::optional<RepairPolicy> cheapest_within(std::span<const PolicyTrial> trials,
                                                          double tolerance);

class ReuseTrial {
 public:
  explicit ReuseTrial(Behind behind, std::vector<RepairPolicy> policies = policies_to_try());

  /// True: a step was done. False: it was stopped, call again. kModel when no block was reused.
  [[nodiscard]] Result<bool> step(LoadedModel& model, const std::stop_token& stop);
  [[nodiscard]] bool done() const { return prompts_done_ == n_prompts_; }
  /// Share of the steps that are done, 0 to 1.
  [[nodiscard]] double progress() const;
  /// By policy, once it is done.
  [[nodiscard]] std::vector<PolicyTrial> results() const;

 private:
  struct Prompt;
  struct Reading;

  [[nodiscard]] Result<bool> warm(LoadedModel& model, const std::stop_token& stop);
  [[nodiscard]] Result<Reading> read(LoadedModel& model, const std::optional<RepairPolicy>& policy,
                                     const std::stop_token& stop) const;
  void begin_prompt(const LoadedModel& model);
  void compare(std::size_t policy, const Reading& reading);

  const Behind behind_;
  const std::vector<RepairPolicy> policies_;
  std::mt19937 random_{1};  // the same prompts each time
  std::unique_ptr<BlockCache> blocks_;
  NeighbourRun neighbours_;                      // of the model, once blocks are being computed
  std::vector<std::vector<BlockGroup>> groups_;  // of each sample whose blocks are stored
  std::size_t n_prompts_ = 0;
  std::size_t prompts_done_ = 0;
  std::shared_ptr<Prompt> prompt_;  // the one under way
  std::size_t next_policy_ = 0;
  std::vector<PolicyTrial> sums_;
  std::vector<double> full_ms_;
  std::vector<std::vector<double>> ms_;  // by policy
};

}  // namespace kvboost::daemon
