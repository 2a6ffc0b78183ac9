// SPDX-License-Identifier: Apache-2.0
#include "daemon/pipeline/scheduler.h"

#include <pthread.h>

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <map>
#include <mutex>
#include <optional>
#include <thread>

#include "base/log.h"

namespace kvboost::daemon {
namespace {

/// Place in the queue: by priority, then by arrival.
struct Ticket {
  Priority priority;
  std::uint64_t number;
  auto operator<=>(const Ticket&) const = default;
};

Error cancelled() {
  return {ErrorCode::kCancelled, "cancelled before it began", {}};
}
Error closing() {
  return {ErrorCode::kBusy, "the daemon is stopping", "try again in a moment"};
}

}  // namespace

struct Scheduler::State {
  struct Entry {
    Job job;
    std::optional<std::stop_callback<std::function<void()>>> on_stop;
  };
  using EntryRef = std::shared_ptr<Entry>;

  std::mutex mutex;
  std::condition_variable changed;
  std::map<Ticket, EntryRef> queue;
  std::uint64_t next_number = 0;
  std::int32_t running = 0;
  bool closed = false;
  std::vector<std::pair<Priority, std::stop_source>> watches;

  /// Those who want to know of a job of this priority. Their stop is requested without the lock: callbacks
  /// run there.
  std::vector<std::stop_source> watching_locked(Priority coming) {
    std::vector<std::stop_source> found;
    for (const auto& [mine, source] : watches) {
      if (coming < mine) found.push_back(source);
    }
    return found;
  }

  /// The job at the front if it is more urgent than `limit` (or any, without one).
  EntryRef take_locked(std::optional<Priority> limit) {
    if (queue.empty() || (limit && queue.begin()->first.priority >= *limit)) return nullptr;
    EntryRef entry = std::move(queue.begin()->second);
    queue.erase(queue.begin());
    if (entry->job.is_request) ++running;
    return entry;
  }

  void drop(Ticket ticket) {
    EntryRef entry;
    {
      const std::lock_guard lock(mutex);
      const auto found = queue.find(ticket);
      if (found == queue.end()) return;  // taken already: the job looks at its stop token itself
      entry = std::move(found->second);
      queue.erase(found);
    }
    entry->job.drop(cancelled());
  }

  void run(const EntryRef& entry) {
    try {
      if (entry->job.stop.stop_requested()) {
        entry->job.drop(cancelled());
      } else {
        entry->job.run();
      }
    } catch (const std::exception& error) {
      log::error("a job failed: {}", error.what());
    }
    const std::lock_guard lock(mutex);
    if (entry->job.is_request) --running;
  }

  void work() {
    for (;;) {
      EntryRef entry;
      {
        std::unique_lock lock(mutex);
        changed.wait(lock, [&] { return closed || !queue.empty(); });
        entry = take_locked(std::nullopt);
        if (!entry) return;
      }
      run(entry);
    }
  }
};

Scheduler::Scheduler(const std::string& thread_name, int n_threads) : state_(std::make_shared<State>()) {
  for (int i = 0; i < n_threads; ++i) {
    threads_.emplace_back([state = state_, name = thread_name.substr(0, 15)] {
      pthread_setname_np(pthread_self(), name.c_str());
      state->work();
    });
  }
}

Scheduler::~Scheduler() {
  close();
}

void Scheduler::submit(Priority priority, Job job) {
  const auto entry = std::make_shared<State::Entry>(std::move(job), std::nullopt);
  Ticket ticket{priority, 0};
  std::vector<std::stop_source> watching;
  {
    const std::lock_guard lock(state_->mutex);
    if (!state_->closed) {
      ticket.number = state_->next_number++;
      state_->queue.emplace(ticket, entry);
      watching = state_->watching_locked(priority);
    } else {
      ticket.number = UINT64_MAX;
    }
  }
  if (ticket.number == UINT64_MAX) return entry->job.drop(closing());
  state_->changed.notify_one();
  for (std::stop_source& watch : watching) watch.request_stop();
  // Armed when it is queued, so that a stop never goes unseen; a job that was taken meanwhile is not found
  // any more.
  entry->on_stop.emplace(entry->job.stop, [state = state_, ticket] { state->drop(ticket); });
}

void Scheduler::yield_to_more_urgent(Priority mine) {
  for (;;) {
    State::EntryRef entry;
    {
      const std::lock_guard lock(state_->mutex);
      entry = state_->take_locked(mine);
    }
    if (!entry) return;
    state_->run(entry);
  }
}

Scheduler::Preemption Scheduler::watch(Priority mine) {
  return Preemption(state_, mine);
}

Scheduler::Preemption::Preemption(std::shared_ptr<State> state, Priority mine) : state_(std::move(state)) {
  const std::lock_guard lock(state_->mutex);
  state_->watches.emplace_back(mine, source_);
  if (!state_->queue.empty() && state_->queue.begin()->first.priority < mine) source_.request_stop();
}

Scheduler::Preemption::~Preemption() {
  if (state_ == nullptr) return;  // moved from
  const std::lock_guard lock(state_->mutex);
  std::erase_if(state_->watches, [&](const auto& watch) { return watch.second == source_; });
}

void Scheduler::close() {
  std::map<Ticket, State::EntryRef> dropped;
  {
    const std::lock_guard lock(state_->mutex);
    state_->closed = true;
    dropped.swap(state_->queue);
  }
  state_->changed.notify_all();
  for (const auto& [ticket, entry] : dropped) entry->job.drop(closing());
}

Scheduler::Load Scheduler::load() const {
  const std::lock_guard lock(state_->mutex);
  const auto is_request = [](const auto& waiting) { return waiting.second->job.is_request; };
  return {state_->running, static_cast<std::int32_t>(std::ranges::count_if(state_->queue, is_request))};
}

}  // namespace kvboost::daemon
