// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/http_server.h"

#include <pthread.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <exception>
#include <set>
#include <thread>
#include <utility>

#include "base/log.h"
#include "daemon/http/http_session.h"

namespace kvboost::daemon {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using SystemError = boost::system::error_code;

constexpr std::size_t kMostServed = 64;
constexpr std::size_t kMostConnected = 256;  // those that are told so among them
constexpr std::chrono::milliseconds kAcceptPause(200);
constexpr std::chrono::seconds kLeaveTime(2);

SystemError listen_on(tcp::acceptor& acceptor, const tcp::endpoint& place) {
  SystemError error;
  acceptor.open(place.protocol(), error);
  if (!error && place.address().is_v6()) acceptor.set_option(asio::ip::v6_only(true), error);
  if (!error) acceptor.set_option(tcp::acceptor::reuse_address(true), error);
  if (!error) acceptor.bind(place, error);
  if (!error) acceptor.listen(tcp::acceptor::max_listen_connections, error);
  return error;
}

std::unexpected<Error> cannot_listen(const tcp::endpoint& place, const SystemError& error) {
  const std::string port = std::to_string(place.port());
  if (error == asio::error::address_in_use) {
    return fail(ErrorCode::kBusy, "another program has port " + port + " of " + place.address().to_string(),
                "`kvboost config set http_port NUMBER` takes another one, `kvboost config set http no` none");
  }
  return fail(ErrorCode::kIo, "cannot serve HTTP on port " + port + ": " + error.message());
}

}  // namespace

struct HttpServer::Impl {
  explicit Impl(HttpOptions options)
      : host{io,
             {},
             std::move(options.token),
             options.defaults,
             [this](const std::shared_ptr<HttpSession>& session) {
               sessions.erase(session);
               if (leaving && sessions.empty()) leave_timer.cancel();
             }} {}

  Result<void> listen(std::uint16_t port);
  void accept(tcp::acceptor& acceptor);
  void on_accepted(tcp::socket socket);
  void run();
  void leave();

  asio::io_context io{1};
  tcp::acceptor acceptor{io}, acceptor6{io};
  asio::steady_timer pause{io}, pause6{io}, leave_timer{io};
  HttpHost host;
  std::set<std::shared_ptr<HttpSession>> sessions;
  std::uint16_t port = 0;
  bool leaving = false;
  std::jthread thread;
};

Result<void> HttpServer::Impl::listen(std::uint16_t wanted) {
  const tcp::endpoint place(asio::ip::address_v4::loopback(), wanted);
  if (const auto error = listen_on(acceptor, place)) return cannot_listen(place, error);
  SystemError ignored;
  port = acceptor.local_endpoint(ignored).port();
  // So that nobody else answers to "localhost" there. Some systems have no IPv6.
  const tcp::endpoint place6(asio::ip::address_v6::loopback(), port);
  const auto error = listen_on(acceptor6, place6);
  if (error == asio::error::address_in_use) return cannot_listen(place6, error);
  if (error) acceptor6.close(ignored);
  return {};
}

void HttpServer::Impl::accept(tcp::acceptor& from) {
  if (leaving || !from.is_open()) return;
  from.async_accept([this, &from](SystemError error, tcp::socket socket) {
    if (leaving || error == asio::error::operation_aborted) return;
    if (!error) {
      on_accepted(std::move(socket));
      return accept(from);
    }
    log::error("cannot accept an HTTP client: {}", error.message());
    asio::steady_timer& timer = &from == &acceptor ? pause : pause6;
    timer.expires_after(kAcceptPause);  // others may free descriptors meanwhile
    timer.async_wait([this, &from](SystemError stopped) {
      if (!stopped) accept(from);
    });
  });
}

void HttpServer::Impl::on_accepted(tcp::socket socket) {
  if (sessions.size() >= kMostConnected) return;  // closes it
  const bool is_full = sessions.size() >= kMostServed;
  const auto session = std::make_shared<HttpSession>(std::move(socket), host);
  sessions.insert(session);
  if (is_full) return session->turn_away();
  session->start();
}

void HttpServer::Impl::run() {
  ::pthread_setname_np(::pthread_self(), "kv-http");
  for (;;) {
    try {
      io.run();
      return;
    } catch (const std::exception& error) {
      log::error("an HTTP request failed: {}", error.what());
    }
  }
}

void HttpServer::Impl::leave() {
  leaving = true;
  SystemError ignored;
  for (tcp::acceptor* one : {&acceptor, &acceptor6}) one->close(ignored);
  pause.cancel();
  pause6.cancel();
  const auto now = sessions;
  for (const auto& session : now) session->leave();
  if (sessions.empty()) return;
  leave_timer.expires_after(kLeaveTime);
  leave_timer.async_wait([this](SystemError) {
    const auto left = sessions;
    for (const auto& session : left) session->close();
  });
}

Result<HttpServer> HttpServer::open(HttpOptions options) {
  const std::uint16_t port = options.port;
  auto impl = std::make_unique<Impl>(std::move(options));
  if (auto listening = impl->listen(port); !listening) return fail(listening.error());
  return HttpServer(std::move(impl));
}

HttpServer::HttpServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
HttpServer::HttpServer(HttpServer&&) noexcept = default;
HttpServer& HttpServer::operator=(HttpServer&&) noexcept = default;

HttpServer::~HttpServer() {
  if (impl_ == nullptr || !impl_->thread.joinable()) return;
  asio::post(impl_->io, [impl = impl_.get()] { impl->leave(); });
  impl_->thread.join();
}

void HttpServer::start(const std::filesystem::path& socket) {
  impl_->host.socket = socket;
  impl_->accept(impl_->acceptor);
  impl_->accept(impl_->acceptor6);
  impl_->thread = std::jthread([impl = impl_.get()] { impl->run(); });
}

std::string HttpServer::address() const {
  return "http://127.0.0.1:" + std::to_string(impl_->port);
}

}  // namespace kvboost::daemon
