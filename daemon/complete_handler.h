// SPDX-License-Identifier: Apache-2.0
// CompleteHandler: the method `complete`, from typed parameters to typed result. A worker finds what belongs
// into the prompt, the engine thread writes, both before all else that waits. A newer request of the same
// client ends the older one; with `ahead`, what would follow the answer is computed behind it, until the next
// request comes. Any thread may call it.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>

#include "base/config.h"
#include "daemon/metrics.h"
#include "daemon/net/binder.h"
#include "daemon/pipeline/block_cache.h"
#include "daemon/pipeline/completer.h"
#include "daemon/pipeline/model_host.h"
#include "daemon/pipeline/neighbours.h"
#include "daemon/pipeline/reuse_gate.h"
#include "daemon/pipeline/scheduler.h"
#include "daemon/prompt/repositories.h"
#include "daemon/protocol/methods.h"

namespace kvboost::daemon {

class CompleteHandler {
 public:
  struct Parts {
    const Config& config;
    Scheduler& workers;
    Scheduler& engine_thread;
    ModelHost& models;
    Repositories& repositories;
    BlockCache& blocks;
    ReuseGate& gate;
    const Neighbours& neighbours;
    Metrics& metrics;
    cache::ChunkOptions chunking{};
  };
  /// Everything in `parts` must outlive the requests.
  explicit CompleteHandler(const Parts& parts);

  void bind(Binder& binder);

 private:
  struct Run;
  using RunPtr = std::shared_ptr<Run>;
  void start(const RunPtr& run);
  void prepare_on_worker(const RunPtr& run);
  void write_on_engine(const RunPtr& run);
  [[nodiscard]] protocol::CompleteResult result_of(const Run& run, const WrittenHints& written) const;
  [[nodiscard]] std::optional<protocol::CompleteResult> recent_result(const Run& run) const;
  void end(const RunPtr& run, const Result<protocol::CompleteResult>& outcome);

  /// Asks the client's request before this one to stop.
  void supersede(Run& run);

  Parts parts_;
  Completer completer_;
  std::mutex mutex_;                                 // guards running_
  std::map<std::string, std::stop_source> running_;  // by client: its latest request's
};

}  // namespace kvboost::daemon
