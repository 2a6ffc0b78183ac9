// SPDX-License-Identifier: Apache-2.0
// LocateHandler: the method `locate`, from typed parameters to typed result. A worker brings the repository
// up to date and runs the rankers; what each of them leads to goes out at once. Any thread may call it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "daemon/metrics.h"
#include "daemon/net/binder.h"
#include "daemon/pipeline/block_cache.h"
#include "daemon/pipeline/locate_run.h"
#include "daemon/pipeline/model_host.h"
#include "daemon/pipeline/model_ranker.h"
#include "daemon/pipeline/neighbours.h"
#include "daemon/pipeline/scheduler.h"
#include "daemon/prompt/repositories.h"
#include "daemon/protocol/methods.h"

namespace kvboost::daemon {

class LocateHandler {
 public:
  struct Parts {
    Scheduler& workers;
    Scheduler& engine_thread;
    ModelHost& models;
    Repositories& repositories;
    BlockCache& blocks;
    const Neighbours& neighbours;
    Metrics& metrics;
  };
  /// Everything in `parts` must outlive the requests.
  explicit LocateHandler(const Parts& parts) : parts_(parts) {}

  void bind(Binder& binder);

 private:
  struct Run;
  [[nodiscard]] Result<protocol::LocateResult> locate(Run& run);
  [[nodiscard]] Result<FileFilter> filter_of(const Run& run) const;
  [[nodiscard]] Result<void> rank_by_model(Run& run, LocateRun& ranking);
  void end(const Run& run, const Result<protocol::LocateResult>& outcome);

  Parts parts_;
};

}  // namespace kvboost::daemon
