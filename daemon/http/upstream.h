// SPDX-License-Identifier: Apache-2.0
// Upstream: one request of an HTTP client, asked of this same daemon over its Unix socket as any client
// would: the same handlers, limits and cancellation. Hanging up cancels. Lives on the HTTP thread; kept by
// its session and by its pending operations.
#pragma once

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <filesystem>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "base/error.h"
#include "daemon/protocol/framing.h"

namespace kvboost::daemon {

class Upstream : public std::enable_shared_from_this<Upstream> {
 public:
  struct Listener {
    std::function<void(const std::string& method, const nlohmann::json& params)> on_notification;
    /// The last call, unless it was hung up.
    std::function<void(const Result<nlohmann::json>& result)> on_result;
  };

  Upstream(boost::asio::io_context& io, Listener listener) : socket_(io), listener_(std::move(listener)) {}

  /// Once. `params` is JSON text of an object.
  void ask(const std::filesystem::path& socket, const std::string& method, const std::string& params);
  /// No more is read until `resume`; then the daemon notices that its client does not read.
  void pause() { paused_ = true; }
  void resume();
  /// Cancels the request; the listener is not called any more.
  void hang_up();

 private:
  void write();
  void read();
  void handle_lines();
  void end(const Result<nlohmann::json>& result);

  boost::asio::local::stream_protocol::socket socket_;
  Listener listener_;
  std::string request_;
  std::array<char, 16 * 1024> input_;
  protocol::LineFramer framer_;
  bool reading_ = false;
  bool paused_ = false;
  bool ended_ = false;
};

}  // namespace kvboost::daemon
