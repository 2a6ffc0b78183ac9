// SPDX-License-Identifier: Apache-2.0
// LineClient: the other end of the socket, as plain as can be: lines out, lines in. Not kvboost's own client,
// so that the tests say what the wire is and may break its rules.
#pragma once

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "base/unix_socket.h"
#include "daemon/protocol/framing.h"

namespace kvboost::testing_net {

class LineClient {
 public:
  explicit LineClient(const std::filesystem::path& socket) {
    auto fd = connect_unix(socket);
    EXPECT_TRUE(fd) << fd.error().message;
    if (fd) fd_ = std::move(*fd);
    // Not an assertion about time: it ends a test that would hang.
    const timeval patience{.tv_sec = 120, .tv_usec = 0};
    ::setsockopt(fd_.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  }

  void send_bytes(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t count = ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) return;
      bytes.remove_prefix(static_cast<std::size_t>(count));
    }
  }
  void send(const nlohmann::json& message) { send_bytes(message.dump() + "\n"); }
  void request(const nlohmann::json& id, std::string_view method, const nlohmann::json& params = nullptr) {
    nlohmann::json message = {{"jsonrpc", "2.0"}, {"id", id}, {"method", method}};
    if (!params.is_null()) message["params"] = params;
    send(message);
  }
  void cancel(const nlohmann::json& id) {
    send({{"jsonrpc", "2.0"}, {"method", "$/cancelRequest"}, {"params", {{"id", id}}}});
  }

  /// Nothing at the end of the stream.
  std::optional<nlohmann::json> receive() {
    for (;;) {
      auto line = framer_.next();
      if (!line) return std::nullopt;
      if (*line) return nlohmann::json::parse(**line);
      std::array<char, 65536> piece;
      const ssize_t count = ::recv(fd_.get(), piece.data(), piece.size(), 0);
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) return std::nullopt;
      framer_.append({piece.data(), static_cast<std::size_t>(count)});
    }
  }
  /// The next message that is an answer; notifications are skipped.
  std::optional<nlohmann::json> receive_answer() {
    for (;;) {
      auto message = receive();
      if (!message || !message->contains("method")) return message;
    }
  }

  void shut_down_writing() { ::shutdown(fd_.get(), SHUT_WR); }
  void hang_up() { fd_.close(); }

 private:
  FileDescriptor fd_;
  protocol::LineFramer framer_;
};

}  // namespace kvboost::testing_net
