// SPDX-License-Identifier: Apache-2.0
// Client: one connection to the daemon, which it starts when none runs. Plain blocking POSIX; one thread at a
// time. A stop_token ends every wait: a running request is then cancelled in the daemon too.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/daemon_files.h"
#include "base/error.h"
#include "base/file_descriptor.h"
#include "daemon/protocol/framing.h"
#include "daemon/protocol/message_id.h"
#include "daemon/protocol/methods.h"

namespace kvboost::cli {

struct ClientOptions {
  std::filesystem::path socket;           // the option `socket`; empty: in the runtime directory
  std::string name = "kvboost";           // "kvboost 0.1.0"
  std::string build;                      // build_id(); empty: any daemon will do
  bool start_daemon = true;               // false: kNotFound if none runs, and one of another build is kept
  std::filesystem::path daemon;           // kvboostd; empty: find_daemon() finds it
  std::vector<std::string> daemon_flags;  // for a daemon that is started: "--socket=…"
  std::function<void(std::string_view)> on_wait;  // "starting the daemon", for a person who waits
  std::stop_token stop;
};

/// Method and params of a notification that belongs to the running call; decode<AskToken>(params).
using NotificationSink = std::function<void(std::string_view method, const nlohmann::json& params)>;

class Client {
 public:
  /// Connects, starting the daemon if need be (of many clients one starts it, the others wait), and shakes
  /// hands; a daemon of another build is waited for to leave, and a new one started. kNotFound: none runs, or
  /// kvboostd is not installed; kIo: it could not start, with its own last words and the log's path.
  [[nodiscard]] static Result<Client> connect(const ClientOptions& options);

  /// What the daemon told about itself.
  [[nodiscard]] const protocol::InitializeResult& server() const { return server_; }

  /// One request. Its notifications go to `sink`, on this thread. On stop the request is cancelled, and the
  /// answer awaited for a short while: kCancelled.
  template <class Value, class Params>
  [[nodiscard]] Result<Value> call(std::string_view method, const Params& params,
                                   const NotificationSink& sink = {}, std::stop_token stop = {}) {
    const auto answer = exchange(method, protocol::encode_text(params), sink, stop, std::nullopt);
    if (!answer) return fail(answer.error());
    return protocol::decode_text<Value>(*answer);
  }

  /// After `shutdown`: true once the daemon has gone.
  [[nodiscard]] bool wait_until_gone(std::chrono::milliseconds patience, std::stop_token stop) const;

 private:
  Client(DaemonFiles files, FileDescriptor socket) : files_(std::move(files)), socket_(std::move(socket)) {}

  /// True if the daemon is leaving.
  Result<bool> shake_hands(const ClientOptions& options);
  /// Sends a request and gives the text of its result. Without an answer after `patience`: kProtocol.
  Result<std::string> exchange(std::string_view method, const std::string& params,
                               const NotificationSink& sink, const std::stop_token& stop,
                               std::optional<std::chrono::milliseconds> patience);
  /// Handles what has come in; the result's text once the answer to `id` is among it.
  Result<std::optional<std::string>> take_answer(const protocol::Id& id, const NotificationSink& sink);
  void send_some();
  /// False once the daemon has hung up.
  bool receive_some();

  DaemonFiles files_;
  FileDescriptor socket_;
  std::string outgoing_;
  protocol::LineFramer framer_;
  protocol::InitializeResult server_;
  std::int64_t next_id_ = 1;
};

}  // namespace kvboost::cli
