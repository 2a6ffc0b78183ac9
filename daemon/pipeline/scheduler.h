// SPDX-License-Identifier: Apache-2.0
// Scheduler: threads that take jobs in order of priority, first come first served within one. With one thread
// it is the engine thread, the only one that touches torch state; with several it is the workers (git,
// parsing, reading files). Every method may be called from any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "base/error.h"

namespace kvboost::daemon {

/// Lower value, sooner: somebody types, somebody waits, nobody waits.
enum class Priority { kCompletion = 0, kAsk = 1, kWarm = 2 };

class Scheduler {
 public:
  struct Job {
    /// The work. Runs on one of the scheduler's threads.
    std::move_only_function<void()> run;
    /// Called instead of `run` when `stop` is requested, or the scheduler closes, while the job still waits:
    /// at once, on the thread that asked for the stop.
    std::move_only_function<void(Error)> drop;
    std::stop_token stop;
    bool is_request = true;  // else a part of one, or the daemon's own work: no Load counts it
  };

  struct Load {
    std::int32_t running = 0;
    std::int32_t queued = 0;
  };

  Scheduler(const std::string& thread_name, int n_threads);
  /// Closes, and waits for what runs.
  ~Scheduler();
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  void submit(Priority priority, Job job);

  /// From inside a running job of priority `mine`: runs the waiting jobs that are more urgent, here and now.
  /// This is how a completion overtakes an answer that is being written.
  void yield_to_more_urgent(Priority mine);

  /// For a job that can be done again later (warm): its token is stopped when a job more urgent than `mine`
  /// begins to wait, or waits already.
  class Preemption;
  [[nodiscard]] Preemption watch(Priority mine);

  /// Drops what waits and takes nothing more; what runs goes on.
  void close();

  [[nodiscard]] Load load() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
  std::vector<std::jthread> threads_;
};

/// Must not outlive the scheduler's jobs; one job at a time holds it.
class Scheduler::Preemption {
 public:
  Preemption(Preemption&&) noexcept = default;
  Preemption& operator=(Preemption&&) = delete;
  ~Preemption();
  [[nodiscard]] std::stop_token token() const { return source_.get_token(); }

 private:
  friend class Scheduler;
  Preemption(std::shared_ptr<State> state, Priority mine);

  std::shared_ptr<State> state_;
  std::stop_source source_;
};

}  // namespace kvboost::daemon
