// SPDX-License-Identifier: Apache-2.0
#include "daemon/net/call.h"

#include "base/log.h"
#include "daemon/protocol/rpc.h"

namespace kvboost::daemon {

Call::Call(protocol::Id id, std::string method, std::uint64_t session, Clock::time_point received,
           std::shared_ptr<Outbox> outbox, std::shared_ptr<LiveCounts> counts)
    : id_(std::move(id)),
      method_(std::move(method)),
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
  log_answer(result);
  outbox_->push({answer_line(result) + "\n", shared_from_this(), ""});
}

void Call::describe(std::string figures) {
  const std::lock_guard lock(mutex_);
  figures_ = std::move(figures);
}

/// Under the lock. An error's message may quote what the user wrote, so its code has to do.
void Call::log_answer(const Result<std::string>& result) const {
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - received_).count();
  // Every client begins with the first, some poll the second, and an editor asks for the third at each key.
  const bool is_frequent = method_ == "initialize" || method_ == "status" || method_ == "complete";
  spdlog::log(is_frequent ? spdlog::level::debug : spdlog::level::info, "{}: {} in {} ms{}{}", method_,
              result ? "done" : to_string(result.error().code), ms, figures_.empty() ? "" : "; ", figures_);
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
