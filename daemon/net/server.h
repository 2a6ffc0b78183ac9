// SPDX-License-Identifier: Apache-2.0
// Server: accepts clients on a Listener's socket and brings their requests to a Binder's handlers. `run`
// turns the calling thread into the io thread; nothing may block it. A few worker threads run the handlers
// that read files. `stop` and `counts` may be called from any thread. Binder and Listener must outlive the
// server.
#pragma once

#include <chrono>
#include <memory>

#include "base/error.h"
#include "daemon/net/binder.h"
#include "daemon/net/listener.h"
#include "daemon/net/server_counts.h"

namespace kvboost::daemon {

struct ServerOptions {
  int workers = 2;
  /// Unanswered requests of one connection; one more is answered kBusy.
  int max_pending = 128;
  int max_connections = 256;
  /// How long kDrain waits for running requests before it cancels them (less where a signal asked: then
  /// somebody waits for the process to end), and how long after that the server leaves without them.
  std::chrono::milliseconds drain_patience{45'000};  // clients wait a minute for an old daemon to go
  std::chrono::milliseconds signal_patience{10'000};
  std::chrono::milliseconds cancel_patience{3'000};
  /// SIGTERM and SIGINT drain, a second one cancels. They are blocked in the constructor: construct the
  /// server before any other thread starts, so that all inherit that.
  bool handle_signals = false;
};

enum class StopMode { kDrain, kCancel };

class Server {
 public:
  Server(Listener& listener, const Binder& binder, ServerOptions options = {});
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  /// Serves until it was stopped. False if it left with requests unanswered: their handlers hang, and joining
  /// the threads they are on may hang too.
  bool run();

  /// Removes the socket, refuses new requests (kBusy), finishes or cancels the running ones, then ends `run`.
  void stop(StopMode mode);
  [[nodiscard]] bool is_leaving() const;
  [[nodiscard]] ServerCounts counts() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kvboost::daemon
