// SPDX-License-Identifier: Apache-2.0
#include "daemon/net/connection.h"

#include <poll.h>

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/log.h"

namespace kvboost::daemon {
namespace {

namespace asio = boost::asio;

constexpr std::size_t kMaxGathered = 64;  // lines of one write

bool has_hung_up(int fd) {
  pollfd poll{.fd = fd, .events = 0, .revents = 0};
  return ::poll(&poll, 1, 0) > 0 && (poll.revents & (POLLHUP | POLLERR)) != 0;
}

}  // namespace

Connection::Connection(Socket socket, std::uint64_t session, const ConnectionHost& host)
    : socket_(std::move(socket)), session_(session), host_(host) {}

void Connection::start() {
  outbox_ = std::make_shared<Outbox>([weak = weak_from_this(), executor = socket_.get_executor()] {
    asio::post(executor, [weak] {
      if (const auto self = weak.lock()) self->write();
    });
  });
  read();
}

void Connection::leave() {
  leaving_ = true;
  close_if_done();
}

void Connection::abandon_all() {
  for (const auto& [id, call] : calls_) call->abandon();
}

void Connection::close() {
  if (std::exchange(closed_, true)) return;
  for (const auto& [id, call] : calls_) call->request_stop();
  calls_.clear();
  outbox_->close();
  ErrorCode ignored;
  socket_.close(ignored);
  host_.on_closed(session_);
}

void Connection::read() {
  if (reading_ || input_ended_ || closed_) return;
  reading_ = true;
  socket_.async_read_some(
      asio::buffer(input_),
      [self = shared_from_this()](ErrorCode error, std::size_t count) { self->on_read(error, count); });
}

void Connection::on_read(ErrorCode error, std::size_t count) {
  reading_ = false;
  if (closed_) return;
  if (error == asio::error::eof) return on_end_of_input();
  if (error) return close();
  last_read_ = std::chrono::steady_clock::now();
  framer_.append({input_.data(), count});
  handle_lines();
}

void Connection::handle_lines() {
  while (!closed_ && !input_ended_ && !outbox_->is_full()) {
    auto line = framer_.next();
    if (!line) {
      log::warn("client {}: {}; closing the connection", session_, line.error().message);
      input_ended_ = leaving_ = true;
      return refuse(std::nullopt, protocol::to_rpc_error(line.error()));
    }
    if (!*line) return read();
    handle_line(**line);
  }
}

void Connection::handle_line(std::string_view line) {
  auto message = protocol::parse_message(line);
  if (!message) return refuse(message.error().id, message.error().error);
  if (auto* request = std::get_if<protocol::Request>(&*message)) return on_request(std::move(*request));
  if (auto* notification = std::get_if<protocol::Notification>(&*message)) on_notification(*notification);
  // A response: we never asked.
}

void Connection::on_request(protocol::Request request) {
  const auto run_on = host_.binder.find(request.method);
  if (!run_on) {
    return refuse(request.id,
                  {protocol::kMethodNotFound, "there is no method '" + request.method + "'", "protocol", ""});
  }
  if (leaving_) {
    return refuse(request.id, protocol::to_rpc_error({kvboost::ErrorCode::kBusy, "the daemon is leaving",
                                                      "connect again: a new one will be started"}));
  }
  if (calls_.contains(request.id)) {
    // Answered without the id: with it, the client would take this for the first one's answer.
    return refuse(std::nullopt, {protocol::kInvalidRequest, "a request with this id is still running",
                                 "protocol", "give each request an id of its own"});
  }
  if (is_overloaded()) {
    return refuse(request.id, protocol::to_rpc_error({kvboost::ErrorCode::kBusy,
                                                      "too many requests are running on this connection",
                                                      "wait for some answers first"}));
  }
  const auto call =
      std::make_shared<Call>(request.id, request.method, session_, last_read_, outbox_, host_.counts);
  calls_.emplace(request.id, call);
  if (*run_on == RunOn::kIo) return host_.binder.dispatch(request.method, call, request.params);
  host_.run_on_worker([&binder = host_.binder, call, method = std::move(request.method),
                       params = std::move(request.params)] { binder.dispatch(method, call, params); });
}

bool Connection::is_overloaded() const {
  if (calls_.size() < host_.max_pending) return false;
  // Those that are answered only wait for the client to read: the outbox bounds them.
  const auto running =
      std::ranges::count_if(calls_, [](const auto& entry) { return !entry.second->is_answered(); });
  return static_cast<std::size_t>(running) >= host_.max_pending;
}

void Connection::on_notification(const protocol::Notification& notification) {
  if (notification.method != "$/cancelRequest" || !notification.params.is_object()) return;
  const auto field = notification.params.find("id");
  if (field == notification.params.end()) return;
  const auto id = protocol::decode_id(*field);
  if (!id) return;
  const auto call = calls_.find(*id);
  if (call != calls_.end()) call->second->request_stop();
}

void Connection::refuse(const std::optional<protocol::Id>& id, const protocol::RpcError& error) {
  outbox_->push({protocol::error_line(id, error) + "\n", nullptr, ""});
}

void Connection::on_end_of_input() {
  input_ended_ = true;
  // The client may have closed its writing side alone, as a shell pipe does, and still wait for answers.
  if (has_hung_up(socket_.native_handle())) return close();
  close_on_hang_up();
  close_if_done();
}

void Connection::close_on_hang_up() {
  socket_.async_wait(Socket::wait_error, [self = shared_from_this()](ErrorCode error) {
    if (error || self->closed_) return;
    if (has_hung_up(self->socket_.native_handle())) return self->close();
    self->close_on_hang_up();
  });
}

void Connection::write() {
  if (writing_ || closed_) return;
  if (next_frame_ == frames_.size()) {
    frames_ = outbox_->take();
    next_frame_ = 0;
    if (frames_.empty()) return close_if_done();
  }
  std::vector<asio::const_buffer> lines;
  const std::size_t end = std::min(frames_.size(), next_frame_ + kMaxGathered);
  for (std::size_t i = next_frame_; i < end; ++i) lines.push_back(asio::buffer(frames_[i].line));
  lines.front() += frame_offset_;
  writing_ = true;
  socket_.async_write_some(lines, [self = shared_from_this()](ErrorCode error, std::size_t count) {
    self->on_written(error, count);
  });
}

void Connection::on_written(ErrorCode error, std::size_t count) {
  writing_ = false;
  if (closed_) return;
  if (error) return close();
  note_written(count);
  write();
  if (!reading_) handle_lines();  // it may have paused
}

void Connection::note_written(std::size_t count) {
  const auto now = std::chrono::steady_clock::now();
  outbox_->written(count);
  while (count > 0) {
    const Outbox::Frame& frame = frames_[next_frame_];
    const bool is_notification = !frame.method.empty();
    if (frame_offset_ == 0 && is_notification) frame.call->note_written(frame.method, now);
    const std::size_t part = std::min(count, frame.line.size() - frame_offset_);
    count -= part;
    frame_offset_ += part;
    if (frame_offset_ < frame.line.size()) return;
    if (frame.call && !is_notification) calls_.erase(frame.call->id());
    frame_offset_ = 0;
    ++next_frame_;
  }
}

void Connection::close_if_done() {
  if ((leaving_ || input_ended_) && calls_.empty() && outbox_->is_empty()) close();
}

}  // namespace kvboost::daemon
