// SPDX-License-Identifier: Apache-2.0
// DeadlineStop: a token that is stopped when another one is, or when time is up. Lives on one thread, and has
// one that waits.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stop_token>
#include <thread>

#include "daemon/pipeline/either_stop.h"

namespace kvboost::daemon {

class DeadlineStop {
 public:
  using Clock = std::chrono::steady_clock;
  DeadlineStop(const std::stop_token& stop, Clock::time_point deadline)
      : either_(stop, late_.get_token()),
        thread_([this, deadline](const std::stop_token& ending) { wait(ending, deadline); }) {}

  [[nodiscard]] std::stop_token token() const { return either_.token(); }
  [[nodiscard]] bool is_late() const { return late_.stop_requested(); }

 private:
  void wait(const std::stop_token& ending, Clock::time_point deadline) {
    std::mutex mutex;
    std::condition_variable_any changed;
    std::unique_lock lock(mutex);
    while (!ending.stop_requested() && Clock::now() < deadline) {
      // In steps: the end of time is further away than some clocks can be told.
      const auto step = std::min(deadline, Clock::now() + std::chrono::hours(1));
      changed.wait_until(lock, ending, step, [] { return false; });
    }
    if (!ending.stop_requested()) late_.request_stop();
  }

  std::stop_source late_;
  EitherStop either_;
  std::jthread thread_;  // last: it uses the above
};

}  // namespace kvboost::daemon
