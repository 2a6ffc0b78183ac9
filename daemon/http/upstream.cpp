// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/upstream.h"

#include <boost/asio/buffer.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <nlohmann/json.hpp>
#include <utility>
#include <variant>

#include "base/unix_socket.h"
#include "daemon/protocol/rpc.h"

namespace kvboost::daemon {
namespace {

namespace asio = boost::asio;
using SystemError = boost::system::error_code;

constexpr std::int64_t kId = 1;  // there is one request a connection

Error leaving() {
  return {kvboost::ErrorCode::kBusy, "the daemon is leaving", "ask again in a moment"};
}

}  // namespace

void Upstream::ask(const std::filesystem::path& socket, const std::string& method,
                   const std::string& params) {
  auto connected = connect_unix(socket);
  SystemError failed;
  if (connected) socket_.assign(asio::local::stream_protocol(), connected->release(), failed);
  if (!connected || failed) {
    return asio::post(socket_.get_executor(), [self = shared_from_this()] { self->end(fail(leaving())); });
  }
  request_ = R"({"jsonrpc":"2.0","id":)" + std::to_string(kId) + R"(,"method":")" + method +
             R"(","params":)" + params + "}\n";
  write();
  read();
}

void Upstream::write() {
  asio::async_write(socket_, asio::buffer(request_),
                    [self = shared_from_this()](SystemError error, std::size_t) {
                      self->request_.clear();
                      if (error) self->end(fail(leaving()));
                    });
}

void Upstream::resume() {
  if (!std::exchange(paused_, false)) return;
  handle_lines();
}

void Upstream::hang_up() {
  ended_ = true;
  SystemError ignored;
  socket_.close(ignored);
}

void Upstream::read() {
  if (reading_ || paused_ || ended_) return;
  reading_ = true;
  socket_.async_read_some(asio::buffer(input_),
                          [self = shared_from_this()](SystemError error, std::size_t count) {
                            self->reading_ = false;
                            if (self->ended_) return;
                            if (error) return self->end(fail(leaving()));
                            self->framer_.append({self->input_.data(), count});
                            self->handle_lines();
                          });
}

void Upstream::handle_lines() {
  while (!ended_ && !paused_) {
    const auto line = framer_.next();
    if (!line) return end(fail(line.error()));
    if (!*line) return read();
    const auto message = protocol::parse_message(**line);
    if (!message) continue;
    if (const auto* told = std::get_if<protocol::Notification>(&*message)) {
      listener_.on_notification(told->method, told->params);
    } else if (const auto* response = std::get_if<protocol::Response>(&*message)) {
      return response->result ? end(*response->result)
                              : end(fail(protocol::to_error(response->result.error())));
    }
  }
}

void Upstream::end(const Result<nlohmann::json>& result) {
  if (ended_) return;
  const auto self = shared_from_this();  // what is called may let go of this
  hang_up();
  listener_.on_result(result);
}

}  // namespace kvboost::daemon
