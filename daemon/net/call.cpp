// SPDX-License-Identifier: Apache-2.0
#include "daemon/net/call.h"

#include "daemon/protocol/rpc.h"

namespace kvboost::daemon {

Call::Call(protocol::Id id, std::uint64_t session, Clock::time_point received, std::shared_ptr<Outbox> outbox,
           std::shared_ptr<LiveCounts> counts)
    : id_(std::move(id)),
      session_(session),
      received_(received),
      outbox_(std::move(outbox)),
      counts_(std::move(counts)) {
  ++counts_->running;
}

void Call::abandon() {
  {
    const std::lock_guard lock(mutex_);
    abandoned_ = true;
  }
  stop_.request_stop();
}

void Call::answer(const Result<std::string>& result) {
  const std::lock_guard lock(mutex_);
  if (std::exchange(answered_, true)) return;
  --counts_->running;
  outbox_->push({answer_line(result) + "\n", shared_from_this(), ""});
}

/// Under the lock.
std::string Call::answer_line(const Result<std::string>& result) const {
  if (result) return protocol::result_line(id_, *result);
  const bool is_cancelled = result.error().code == ErrorCode::kCancelled;
  if (!is_cancelled || !abandoned_) return protocol::error_line(id_, protocol::to_rpc_error(result.error()));
  return protocol::error_line(
      id_,
      protocol::to_rpc_error({ErrorCode::kBusy, "the daemon left before the request was done", "ask again"}));
}

bool Call::notify(std::string_view method, std::string_view params) {
  std::string line = protocol::notification_line(method, id_, params) + "\n";
  const std::lock_guard lock(mutex_);
  return !answered_ && outbox_->offer({std::move(line), shared_from_this(), std::string(method)});
}

bool Call::is_answered() {
  const std::lock_guard lock(mutex_);
  return answered_;
}

void Call::note_written(const std::string& method, Clock::time_point when) {
  {
    const std::lock_guard lock(mutex_);
    if (find_written(method)) return;
    written_.emplace_back(method, when);
  }
  written_changed_.notify_all();
}

std::optional<Call::Clock::time_point> Call::written_at(std::string_view method,
                                                        std::chrono::milliseconds wait) {
  std::unique_lock lock(mutex_);
  written_changed_.wait_for(lock, wait, [&] { return find_written(method).has_value(); });
  return find_written(method);
}

std::optional<Call::Clock::time_point> Call::find_written(std::string_view method) const {
  for (const auto& [name, when] : written_) {
    if (name == method) return when;
  }
  return std::nullopt;
}

}  // namespace kvboost::daemon
