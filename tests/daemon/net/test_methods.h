// SPDX-License-Identifier: Apache-2.0
// Methods for tests of the server: one that answers at once, and one that waits until it is cancelled.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <vector>

#include "daemon/net/binder.h"

namespace kvboost::testing_net {

/// `echo` answers with its params.
inline void bind_echo(daemon::Binder& binder, daemon::RunOn run_on = daemon::RunOn::kIo) {
  binder.add<protocol::ModelUseParams, protocol::ModelUseParams>(
      "echo", run_on,
      [](const daemon::RequestContext&, const protocol::ModelUseParams& params,
         const daemon::Reply<protocol::ModelUseParams>& reply) { reply(params); });
}

/// `wait` answers kCancelled once it is asked to stop, from a stop callback.
class Waiting {
 public:
  void bind(daemon::Binder& binder) {
    binder.add<protocol::Nothing, protocol::Nothing>(
        "wait", daemon::RunOn::kIo,
        [this](const daemon::RequestContext& context, protocol::Nothing,
               const daemon::Reply<protocol::Nothing>& reply) {
          const std::lock_guard lock(mutex_);
          callbacks_.push_back(std::make_unique<Callback>(context.stop(), [this, reply] {
            ++stopped_;
            stopped_.notify_all();
            reply(fail(ErrorCode::kCancelled, "cancelled"));
          }));
          ++started_;
          started_.notify_all();
        });
  }
  void wait_started(int count) { wait(started_, count); }
  void wait_stopped(int count) { wait(stopped_, count); }
  int stopped() const { return stopped_; }

 private:
  using Callback = std::stop_callback<std::function<void()>>;
  static void wait(std::atomic<int>& value, int count) {
    for (int now = value; now < count; now = value) value.wait(now);
  }

  std::mutex mutex_;
  std::vector<std::unique_ptr<Callback>> callbacks_;
  std::atomic<int> started_ = 0;
  std::atomic<int> stopped_ = 0;
};

}  // namespace kvboost::testing_net
