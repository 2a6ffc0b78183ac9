// SPDX-License-Identifier: Apache-2.0
// Call: one request in flight. Made by its Connection, shared with the handler's RequestContext and Reply;
// any thread. It outlives the connection if a handler keeps it; what it sends then goes nowhere.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "daemon/net/outbox.h"
#include "daemon/net/server_counts.h"
#include "daemon/protocol/message_id.h"

namespace kvboost::daemon {

class Call : public std::enable_shared_from_this<Call> {
 public:
  using Clock = std::chrono::steady_clock;

  Call(protocol::Id id, std::string method, std::uint64_t session, Clock::time_point received,
       std::shared_ptr<Outbox> outbox, std::shared_ptr<LiveCounts> counts);

  [[nodiscard]] const protocol::Id& id() const { return id_; }
  [[nodiscard]] std::uint64_t session() const { return session_; }
  [[nodiscard]] Clock::time_point received() const { return received_; }
  [[nodiscard]] std::stop_token stop() const { return stop_.get_token(); }
  void request_stop() { stop_.request_stop(); }
  /// As request_stop, but nobody asked for it: the daemon leaves. An answer "cancelled" is then sent as
  /// kBusy, which tells the client to ask the next daemon.
  void abandon();

  /// What the log says of this request beside its method, outcome and time: figures, never a user's text.
  void describe(std::string figures);
  /// The first answer is sent and logged, later ones are not. `result` is JSON text.
  void answer(const Result<std::string>& result);
  /// `params` is the JSON text of an object. False: not taken.
  bool notify(std::string_view method, std::string_view params);

  [[nodiscard]] bool is_answered();

  /// By the connection: the first byte of a notification is out.
  void note_written(const std::string& method, Clock::time_point when);
  [[nodiscard]] std::optional<Clock::time_point> written_at(std::string_view method,
                                                            std::chrono::milliseconds wait);

 private:
  void log_answer(const Result<std::string>& result) const;
  [[nodiscard]] std::string answer_line(const Result<std::string>& result) const;
  [[nodiscard]] std::optional<Clock::time_point> find_written(std::string_view method) const;

  const protocol::Id id_;
  const std::string method_;
  const std::uint64_t session_;
  const Clock::time_point received_;
  const std::shared_ptr<Outbox> outbox_;
  const std::shared_ptr<LiveCounts> counts_;
  std::stop_source stop_;

  std::mutex mutex_;  // held while a line goes into the outbox, so that nothing follows the answer
  std::condition_variable written_changed_;
  bool answered_ = false;
  bool abandoned_ = false;
  std::string figures_;
  std::vector<std::pair<std::string, Clock::time_point>> written_;  // a few methods at most
};

}  // namespace kvboost::daemon
