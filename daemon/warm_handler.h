// SPDX-License-Identifier: Apache-2.0
// WarmHandler: the methods `warm` and `skipped`. On a worker it brings the repository up to date and finds
// out which files are meant; the warmer does the rest. Any thread may call it.
#pragma once

#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>

#include "base/error.h"
#include "daemon/metrics.h"
#include "daemon/net/binder.h"
#include "daemon/pipeline/model_host.h"
#include "daemon/pipeline/scheduler.h"
#include "daemon/pipeline/warmer.h"
#include "daemon/prompt/repositories.h"
#include "daemon/protocol/methods.h"

namespace kvboost::daemon {

class WarmHandler {
 public:
  struct Parts {
    Scheduler& workers;
    ModelHost& models;
    Repositories& repositories;
    Warmer& warmer;
    Metrics& metrics;
    std::function<bool()> leaving;  // whether the daemon is; then what can be done later is left
  };
  /// Everything in `parts` must outlive the requests.
  explicit WarmHandler(Parts parts) : parts_(std::move(parts)) {}

  void bind(Binder& binder);

 private:
  struct Run;
  void choose_on_worker(const std::shared_ptr<Run>& run);
  [[nodiscard]] Result<void> choose(Run& run);
  void warm(const std::shared_ptr<Run>& run);
  void end(const Run& run, const Result<protocol::WarmResult>& outcome);
  [[nodiscard]] Result<protocol::SkippedResult> skipped(const std::string& directory,
                                                        const std::stop_token& stop);

  Parts parts_;
};

}  // namespace kvboost::daemon
