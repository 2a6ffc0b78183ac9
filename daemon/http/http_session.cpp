// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/http_session.h"

#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/read.hpp>
#include <exception>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/log.h"
#include "base/text.h"
#include "daemon/http/access.h"
#include "daemon/http/response_text.h"

namespace kvboost::daemon {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;

constexpr std::uint32_t kMostHeader = 16 * 1024;
constexpr std::uint64_t kMostBody = 8 * 1024 * 1024;
constexpr std::size_t kReadBytes = 4096;
constexpr std::size_t kMostAhead = 64 * 1024;    // of the next requests, while one is worked on
constexpr std::size_t kMostQueued = 256 * 1024;  // of an answer, before no more of it is fetched
constexpr std::size_t kMostDropped = 64 * 1024 * 1024;
constexpr std::chrono::seconds kHeaderTime(15);  // the time between two requests included
constexpr std::chrono::seconds kBodyTime(30);
constexpr std::chrono::seconds kWriteTime(30);
constexpr std::chrono::seconds kDropTime(5);

std::string_view view(boost::beast::string_view text) {
  return {text.data(), text.size()};
}

}  // namespace

HttpSession::HttpSession(asio::ip::tcp::socket socket, const HttpHost& host)
    : socket_(std::move(socket)), host_(host), read_deadline_(host.io), write_deadline_(host.io) {
  SystemError ignored;
  socket_.set_option(asio::ip::tcp::no_delay(true), ignored);
}

void HttpSession::turn_away() {
  send_error({503, "too many clients are connected"}, true);
}

void HttpSession::leave() {
  leaving_ = true;
  keep_alive_ = false;
  if (upstream_ == nullptr && output_.empty() && !closing_) close();
}

void HttpSession::close() {
  if (std::exchange(closed_, true)) return;
  const auto self = shared_from_this();  // the server lets go of it
  if (upstream_ != nullptr) std::exchange(upstream_, nullptr)->hang_up();
  read_deadline_.clear();
  write_deadline_.clear();
  SystemError ignored;
  socket_.close(ignored);
  host_.on_closed(self);
}

// ---- the request

void HttpSession::read_header() {
  answered_ = head_sent_ = false;
  parser_.emplace();
  parser_->header_limit(kMostHeader);
  parser_->body_limit(kMostBody);
  read_deadline_.set(kHeaderTime, shared_from_this());
  http::async_read_header(
      socket_, buffer_, *parser_,
      [self = shared_from_this()](SystemError error, std::size_t) { self->on_header(error); });
}

void HttpSession::on_header(SystemError error) {
  if (closed_) return;
  if (error) return on_unreadable(error);
  const auto& request = parser_->get();
  style_ = style_of(view(request.target()));
  is_head_ = request.method() == http::verb::head;
  is_http_1_0_ = request.version() < 11;
  keep_alive_ = request.keep_alive() && !leaving_;
  const auto route = admit();
  if (!route) return send_error(route.error(), /*closes=*/!parser_->is_done());
  route_ = *route;
  read_deadline_.set(kBodyTime, shared_from_this());
  if (ascii_lower(view(request[http::field::expect])) == "100-continue")
    send("HTTP/1.1 100 Continue\r\n\r\n");
  http::async_read(socket_, buffer_, *parser_,
                   [self = shared_from_this()](SystemError failed, std::size_t) { self->on_body(failed); });
}

/// In this order, so that who has no token learns nothing of the paths.
ApiResult<const Route*> HttpSession::admit() const {
  const auto& request = parser_->get();
  const std::string_view target = view(request.target());
  const auto [first, last] = request.equal_range(http::field::host);
  const auto n_hosts = std::distance(first, last);
  if (n_hosts > 1 || (n_hosts == 0 && !is_http_1_0_)) return refuse(400, "there must be one Host header");
  if (n_hosts == 1 && !names_loopback(view(first->value())))
    return refuse(403, "this daemon is to be called localhost, 127.0.0.1 or [::1]");
  if (!target.starts_with('/')) return refuse(400, "the request's target must be a path");
  auto route = find_route(view(request.method_string()), target);
  if (route && (*route)->is_open) return route;
  if (!gives_token(view(request[http::field::authorization]), host_.token)) {
    return refuse(
        401,
        "the header 'Authorization: Bearer TOKEN' is missing or wrong; `kvboost status` tells where "
        "the token stands");
  }
  return route;
}

void HttpSession::on_unreadable(SystemError error) {
  if (error == http::error::body_limit)
    return send_error({413, "the body may have " + human_count(kMostBody) + " bytes"}, true);
  if (error == http::error::header_limit)
    return send_error({431, "the header may have " + human_count(kMostHeader) + " bytes"}, true);
  const bool is_left = error == http::error::end_of_stream || error == http::error::partial_message;
  if (is_left || error.category() != make_error_code(http::error::bad_method).category()) return close();
  send_error({400, "this is no HTTP/1.1 request: " + error.message()}, true);
}

void HttpSession::on_body(SystemError error) {
  if (closed_) return;
  if (error) return on_unreadable(error);
  read_deadline_.clear();
  const std::string body = std::move(parser_->get().body());
  ApiResult<Exchange> exchange;
  try {
    exchange = translate(*route_, body, host_.defaults);
  } catch (const std::exception& failure) {
    log::error("an HTTP request failed: {}", failure.what());
    exchange = refuse(500, "the daemon failed; its log may tell more");
  }
  if (!exchange) return send_error(exchange.error());
  ask(std::move(*exchange));
}

void HttpSession::ask(Exchange exchange) {
  exchange_ = std::move(exchange);
  const std::weak_ptr<HttpSession> weak = weak_from_this();
  Upstream::Listener listener{[weak](const std::string& method, const nlohmann::json& params) {
                                if (const auto self = weak.lock()) self->on_notification(method, params);
                              },
                              [weak](const Result<nlohmann::json>& result) {
                                if (const auto self = weak.lock()) self->on_result(result);
                              }};
  upstream_ = std::make_shared<Upstream>(host_.io, std::move(listener));
  watch_client();
  upstream_->ask(host_.socket, exchange_.method, exchange_.params);
}

// ---- the answer

void HttpSession::on_notification(const std::string& method, const nlohmann::json& params) {
  if (closed_ || !exchange_.stream || !exchange_.on_notification) return;
  const std::string events = exchange_.on_notification(method, params);
  if (!events.empty()) send_events(events, false);
}

void HttpSession::on_result(const Result<nlohmann::json>& result) {
  upstream_ = nullptr;
  if (closed_) return;
  const Result<Answer> answer = result ? exchange_.on_result(*result) : fail(result.error());
  if (answer) return exchange_.stream ? send_events(answer->body, true) : send_answer(*answer);
  const ApiError error = to_api_error(answer.error());
  if (!head_sent_) return send_error(error);
  send_events(event_text(error_body(style_, error)), true);
}

void HttpSession::send_events(const std::string& events, bool last) {
  const bool chunked = !is_http_1_0_;
  std::string bytes;
  if (!std::exchange(head_sent_, true)) {
    keep_alive_ = keep_alive_ && chunked;
    bytes = head_text({.content_type = "text/event-stream", .chunked = chunked, .keep_alive = keep_alive_});
  }
  if (!events.empty()) bytes += chunked ? chunk_text(events) : events;
  if (last && chunked) bytes += kLastChunk;
  answered_ = last;
  send(std::move(bytes));
}

void HttpSession::send_answer(const Answer& answer, const std::string& allow) {
  std::string bytes = head_text({.status = answer.status,
                                 .content_type = answer.content_type,
                                 .length = answer.body.size(),
                                 .keep_alive = keep_alive_,
                                 .allow = allow});
  if (!is_head_) bytes += answer.body;
  answered_ = true;
  send(std::move(bytes));
}

void HttpSession::send_error(const ApiError& error, bool closes) {
  if (closes) keep_alive_ = false;
  log::debug("HTTP: {}", error.status);
  send_answer({.status = error.status, .body = error_body(style_, error)}, error.allow);
}

void HttpSession::send(std::string bytes) {
  output_bytes_ += bytes.size();
  output_.push_back(std::move(bytes));
  if (output_bytes_ > kMostQueued && upstream_ != nullptr) upstream_->pause();
  if (output_.size() == 1) write();
}

void HttpSession::write() {
  write_deadline_.set(kWriteTime, shared_from_this());
  asio::async_write(socket_, asio::buffer(output_.front()),
                    [self = shared_from_this()](SystemError error, std::size_t) { self->on_written(error); });
}

void HttpSession::on_written(SystemError error) {
  if (closed_) return;
  if (error) return close();
  output_bytes_ -= output_.front().size();
  output_.pop_front();
  if (!output_.empty()) return write();
  write_deadline_.clear();
  if (answered_) return end_request();
  if (const auto upstream = upstream_) upstream->resume();
}

void HttpSession::end_request() {
  exchange_ = {};
  if (!keep_alive_) return close_gently();
  if (!watching_) return read_header();
  read_next_ = true;  // its reading must end before the parser's begins
  SystemError ignored;
  socket_.cancel(ignored);
}

// ---- the client meanwhile

void HttpSession::watch_client() {
  if (buffer_.size() >= kMostAhead) return;
  watching_ = true;
  socket_.async_read_some(
      buffer_.prepare(kReadBytes),
      [self = shared_from_this()](SystemError error, std::size_t count) { self->on_watched(error, count); });
}

void HttpSession::on_watched(SystemError error, std::size_t count) {
  watching_ = false;
  if (closed_) return;
  if (closing_) {
    dropped_ += count;
    return error || dropped_ > kMostDropped ? close() : watch_client();
  }
  buffer_.commit(count);
  const bool cancelled = error == asio::error::operation_aborted;
  if (std::exchange(read_next_, false)) return error && !cancelled ? close() : read_header();
  if (!error) return watch_client();
  if (!answered_) return close();
  keep_alive_ = false;  // the rest of the answer may still find its reader
}

void HttpSession::close_gently() {
  closing_ = true;
  SystemError ignored;
  socket_.shutdown(asio::ip::tcp::socket::shutdown_send, ignored);
  read_deadline_.set(kDropTime, shared_from_this());
  if (watching_) return;
  buffer_.consume(buffer_.size());
  watch_client();
}

}  // namespace kvboost::daemon
