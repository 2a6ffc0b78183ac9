// SPDX-License-Identifier: Apache-2.0
// AskHandler: the method `ask`, from typed parameters to typed result. On a worker it brings the repository
// up to date and assembles the plan, on the engine thread it has the plan answered; tokens go out as they
// come. Any thread may call it.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>

#include "base/config.h"
#include "daemon/metrics.h"
#include "daemon/net/binder.h"
#include "daemon/pipeline/answer.h"
#include "daemon/pipeline/block_cache.h"
#include "daemon/pipeline/conversations.h"
#include "daemon/pipeline/model_host.h"
#include "daemon/pipeline/neighbours.h"
#include "daemon/pipeline/reuse_gate.h"
#include "daemon/pipeline/scheduler.h"
#include "daemon/pipeline/warmer.h"
#include "daemon/prompt/repositories.h"
#include "daemon/protocol/methods.h"

namespace kvboost::daemon {

class AskHandler {
 public:
  struct Parts {
    const Config& config;
    Scheduler& workers;
    Scheduler& engine_thread;
    ModelHost& models;
    Repositories& repositories;
    Conversations& conversations;
    BlockCache& blocks;
    ReuseGate& gate;
    const Neighbours& neighbours;
    Warmer& warmer;
    Metrics& metrics;
  };
  /// Everything in `parts` must outlive the requests.
  explicit AskHandler(const Parts& parts) : parts_(parts) {}

  void operator()(RequestContext context, protocol::AskParams params, Reply<protocol::AskResult> reply);

 private:
  struct Run;
  void assemble_on_worker(const std::shared_ptr<Run>& run);
  void answer_on_engine(const std::shared_ptr<Run>& run);
  [[nodiscard]] Result<PromptPlan> plan_for(Run& run);
  [[nodiscard]] Result<PromptPlan> first_turn(Run& run);
  [[nodiscard]] Result<PromptPlan> next_turn(Run& run);
  [[nodiscard]] std::optional<Reuse> reuse_of(const LoadedModel& model, const Run& run) const;
  [[nodiscard]] ReuseVerdict verdict_of(const LoadedModel& model, const Run& run) const;
  [[nodiscard]] static protocol::AskResult result_of(const Run& run, const Answered& answered,
                                                     double queued_ms);
  void remember(Run& run, const Answered& answered);
  void end(Run& run, const Result<protocol::AskResult>& outcome);

  Parts parts_;
};

}  // namespace kvboost::daemon
