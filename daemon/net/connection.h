// SPDX-License-Identifier: Apache-2.0
// Connection: one client. Reads lines, starts calls, writes what its outbox holds. Lives on the io thread;
// kept by the server until it closes, and by its pending operations.
#pragma once

#include <array>
#include <boost/asio/local/stream_protocol.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string_view>
#include <vector>

#include "daemon/net/binder.h"
#include "daemon/net/call.h"
#include "daemon/net/outbox.h"
#include "daemon/net/server_counts.h"
#include "daemon/protocol/framing.h"
#include "daemon/protocol/message_id.h"
#include "daemon/protocol/rpc.h"

namespace kvboost::daemon {

/// What a connection needs of its server, which outlives it.
struct ConnectionHost {
  const Binder& binder;
  std::shared_ptr<LiveCounts> counts;
  std::size_t max_pending;
  std::function<void(std::function<void()>)> run_on_worker;
  std::function<void(std::uint64_t session)> on_closed;
};

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  using Socket = boost::asio::local::stream_protocol::socket;

  Connection(Socket socket, std::uint64_t session, const ConnectionHost& host);

  void start();
  /// Takes no new requests; closes once the last answer is out.
  void leave();
  /// Asks every running request to stop, as the daemon leaves; its client is told so.
  void abandon_all();
  void close();
  [[nodiscard]] std::size_t pending() const { return calls_.size(); }

 private:
  using ErrorCode = boost::system::error_code;

  void read();
  void on_read(ErrorCode error, std::size_t count);
  /// Handles the lines that are there, then reads on. Pauses while the outbox is full.
  void handle_lines();
  void handle_line(std::string_view line);
  void on_request(protocol::Request request);
  [[nodiscard]] bool is_overloaded() const;
  void on_notification(const protocol::Notification& notification);
  void refuse(const std::optional<protocol::Id>& id, const protocol::RpcError& error);
  void on_end_of_input();
  void close_on_hang_up();

  void write();
  void on_written(ErrorCode error, std::size_t count);
  void note_written(std::size_t count);
  void close_if_done();

  Socket socket_;
  const std::uint64_t session_;
  const ConnectionHost& host_;
  std::shared_ptr<Outbox> outbox_;
  std::map<protocol::Id, std::shared_ptr<Call>> calls_;  // whose answer is not out yet

  std::array<char, 64 * 1024> input_;
  protocol::LineFramer framer_;
  std::chrono::steady_clock::time_point last_read_;
  bool reading_ = false;
  bool input_ended_ = false;
  bool leaving_ = false;
  bool closed_ = false;

  std::vector<Outbox::Frame> frames_;  // being written
  std::size_t next_frame_ = 0;         // the first that is not fully out
  std::size_t frame_offset_ = 0;       // bytes of it that are
  bool writing_ = false;
};

}  // namespace kvboost::daemon
