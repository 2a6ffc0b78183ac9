// SPDX-License-Identifier: Apache-2.0
// HttpSession: one TCP client, whose requests are answered one after the other. It reads a request (Beast),
// asks the daemon (Upstream), and writes what comes; meanwhile it watches whether the client is still there,
// and hangs up for it when it is not. Lives on the HTTP thread; kept by the server until it closes.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <deque>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "daemon/http/deadline.h"
#include "daemon/http/exchange.h"
#include "daemon/http/routes.h"
#include "daemon/http/upstream.h"

namespace kvboost::daemon {

class HttpSession;

/// What a session needs of its server, which outlives it.
struct HttpHost {
  boost::asio::io_context& io;
  std::filesystem::path socket;  // the daemon's
  std::string token;
  RequestDefaults defaults;
  std::function<void(const std::shared_ptr<HttpSession>&)> on_closed;
};

class HttpSession : public std::enable_shared_from_this<HttpSession> {
 public:
  HttpSession(boost::asio::ip::tcp::socket socket, const HttpHost& host);

  void start() { read_header(); }
  /// Tells the client that there are too many, and closes.
  void turn_away();
  /// Answers what was asked, then closes.
  void leave();
  void close();

 private:
  using Parser = boost::beast::http::request_parser<boost::beast::http::string_body>;
  using SystemError = boost::system::error_code;

  void read_header();
  void on_header(SystemError error);
  void on_body(SystemError error);
  void on_unreadable(SystemError error);
  [[nodiscard]] ApiResult<const Route*> admit() const;
  void ask(Exchange exchange);

  void on_notification(const std::string& method, const nlohmann::json& params);
  void on_result(const Result<nlohmann::json>& result);
  void send_events(const std::string& events, bool last);
  void send_answer(const Answer& answer, const std::string& allow = {});
  /// `closes`: what else the client has sent cannot be made sense of, or is not wanted.
  void send_error(const ApiError& error, bool closes = false);

  void send(std::string bytes);
  void write();
  void on_written(SystemError error);
  void end_request();

  /// Reads on while a request is worked on: what comes is the next request, or the end.
  void watch_client();
  void on_watched(SystemError error, std::size_t count);
  /// Lets the client read the last answer although it may still be sending.
  void close_gently();

  boost::asio::ip::tcp::socket socket_;
  const HttpHost& host_;
  Deadline read_deadline_, write_deadline_;
  boost::beast::flat_buffer buffer_;
  std::optional<Parser> parser_;

  // Of the request at hand.
  ApiStyle style_ = ApiStyle::kLlama;
  const Route* route_ = nullptr;
  Exchange exchange_;
  std::shared_ptr<Upstream> upstream_;  // until the daemon's result is there
  bool is_head_ = false, is_http_1_0_ = false, keep_alive_ = false;
  bool head_sent_ = false;  // of a stream
  bool answered_ = false;   // all of the answer is in `output_`, or out

  std::deque<std::string> output_;
  std::size_t output_bytes_ = 0;
  bool watching_ = false;   // a read is under way that is not the parser's
  bool read_next_ = false;  // once it has ended
  bool leaving_ = false;
  bool closing_ = false;  // gently
  bool closed_ = false;
  std::size_t dropped_ = 0;  // bytes that came then
};

}  // namespace kvboost::daemon
