// SPDX-License-Identifier: Apache-2.0
// GenerateHandler: the methods `generate`, `tokenize` and `detokenize`, from typed parameters to typed
// result: a prompt that the client has made itself, answered as `ask` answers its own, live sequences
// included. Any thread may call it.
#pragma once

#include <functional>
#include <memory>

#include "daemon/metrics.h"
#include "daemon/net/binder.h"
#include "daemon/pipeline/answer.h"
#include "daemon/pipeline/model_host.h"
#include "daemon/pipeline/scheduler.h"
#include "daemon/protocol/methods.h"

namespace kvboost::daemon {

class GenerateHandler {
 public:
  struct Parts {
    Scheduler& workers;
    Scheduler& engine_thread;
    ModelHost& models;
    Metrics& metrics;
  };
  /// Everything in `parts` must outlive the requests.
  explicit GenerateHandler(const Parts& parts) : parts_(parts) {}

  void bind(Binder& binder);

 private:
  struct Run;
  void start(RequestContext context, protocol::GenerateParams params, Reply<protocol::GenerateResult> reply);
  void plan_on_worker(const std::shared_ptr<Run>& run);
  void write_on_engine(const std::shared_ptr<Run>& run);
  [[nodiscard]] static protocol::GenerateResult result_of(const Run& run, const Answered& answered,
                                                          double queued_ms);
  void end(Run& run, const Result<protocol::GenerateResult>& outcome);

  /// On a worker, once the model is there.
  template <class Value>
  void with_model(const RequestContext& context, const Reply<Value>& reply,
                  std::function<Result<Value>(const LoadedModel&)> work);

  Parts parts_;
};

}  // namespace kvboost::daemon
