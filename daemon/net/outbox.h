// SPDX-License-Identifier: Apache-2.0
// Outbox: lines on their way to one client. Filled from any thread, emptied by the connection on the io
// thread, in order. Bounded: a client that does not read makes it refuse notifications, and its connection
// stop reading.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace kvboost::daemon {

class Call;

class Outbox {
 public:
  /// Bytes that may wait. Answers are taken above it: there is only one a request, and no new requests are
  /// read.
  static constexpr std::size_t kMaxQueuedBytes = 1024 * 1024;

  struct Frame {
    std::string line;            // with its newline
    std::shared_ptr<Call> call;  // whose it is; null for an answer to what was no request
    std::string method;          // of a notification; empty for an answer
  };

  /// `wake` is called (any thread, not under the lock) when there is something to take and nobody was told
  /// yet.
  explicit Outbox(std::function<void()> wake) : wake_(std::move(wake)) {}

  /// A notification. False if it was not taken: full or closed.
  bool offer(Frame frame);
  /// An answer.
  void push(Frame frame);

  /// All that waits. Its bytes count as queued until `written` is told of them.
  [[nodiscard]] std::vector<Frame> take();
  void written(std::size_t bytes);
  [[nodiscard]] bool is_full() const;
  [[nodiscard]] bool is_empty() const;
  /// Drops what waits and takes no more; `wake` is not called again.
  void close();

 private:
  void add_locked(Frame frame);

  mutable std::mutex mutex_;
  std::function<void()> wake_;
  std::deque<Frame> frames_;
  std::size_t queued_bytes_ = 0;
  bool woken_ = false;
  bool closed_ = false;
};

}  // namespace kvboost::daemon
