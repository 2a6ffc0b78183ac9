// SPDX-License-Identifier: Apache-2.0
#include "daemon/net/server.h"

#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <map>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/unix_socket.h"
#include "daemon/net/connection.h"

namespace kvboost::daemon {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;
using Protocol = asio::local::stream_protocol;

constexpr std::chrono::milliseconds kAcceptPause{200};

sigset_t stop_signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  return set;
}

}  // namespace

struct Server::Impl {
  Impl(Listener& open_listener, const Binder& binder, ServerOptions server_options);
  ~Impl();

  void accept();
  void on_accepted(Protocol::socket socket);
  void accept_later();
  void watch_signals();
  void begin_stop(StopMode mode, std::chrono::milliseconds patience);
  void cancel_running();
  void end_if_closed();
  /// Each connection that there is now: what is done to one may remove it.
  template <class Action>
  void for_each_connection(Action action);

  Listener& listener;
  const ServerOptions options;
  const std::shared_ptr<LiveCounts> counts = std::make_shared<LiveCounts>();
  asio::io_context io{1};
  asio::thread_pool workers;
  Protocol::acceptor acceptor{io};
  asio::posix::stream_descriptor signals{io};
  asio::steady_timer accept_timer{io};
  asio::steady_timer stop_timer{io};
  ConnectionHost host;
  std::map<std::uint64_t, std::shared_ptr<Connection>> connections;
  std::uint64_t last_session = 0;
  std::atomic<bool> leaving = false;
  bool cancelled = false;
  bool clean = true;
};

Server::Impl::Impl(Listener& open_listener, const Binder& binder, ServerOptions server_options)
    : listener(open_listener),
      options(server_options),
      workers(static_cast<std::size_t>(std::max(1, options.workers))),
      host{binder, counts, static_cast<std::size_t>(std::max(1, options.max_pending)),
           [this](std::function<void()> work) { asio::post(workers, std::move(work)); },
           [this](std::uint64_t session) {
             connections.erase(session);
             --counts->connections;
             end_if_closed();
           }} {
  acceptor.assign(Protocol(), listener.take_fd().release());
  if (options.handle_signals) watch_signals();
}

Server::Impl::~Impl() {
  for_each_connection([](Connection& connection) { connection.close(); });
  workers.join();
}

template <class Action>
void Server::Impl::for_each_connection(Action action) {
  const auto now = connections;
  for (const auto& [session, connection] : now) action(*connection);
}

void Server::Impl::accept() {
  acceptor.async_accept([this](error_code error, Protocol::socket socket) {
    if (leaving || error == asio::error::operation_aborted) return;
    if (error) {
      log::error("cannot accept a client: {}", error.message());
      return accept_later();
    }
    on_accepted(std::move(socket));
    accept();
  });
}

void Server::Impl::on_accepted(Protocol::socket socket) {
  const auto peer = peer_uid(socket.native_handle());
  if (!peer || *peer != ::geteuid()) {
    log::warn("refused a client: {}",
              peer ? "it runs as user " + std::to_string(*peer) : peer.error().message);
    return;
  }
  if (connections.size() >= static_cast<std::size_t>(options.max_connections)) {
    log::warn("refused a client: {} are connected", connections.size());
    return;
  }
  const auto session = ++last_session;
  const auto connection = std::make_shared<Connection>(std::move(socket), session, host);
  connections.emplace(session, connection);
  ++counts->connections;
  connection->start();
}

/// Out of file descriptors or memory: others may free some.
void Server::Impl::accept_later() {
  accept_timer.expires_after(kAcceptPause);
  accept_timer.async_wait([this](error_code error) {
    if (!error) accept();
  });
}

void Server::Impl::watch_signals() {
  if (!signals.is_open()) {
    const sigset_t set = stop_signals();
    signals.assign(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  }
  signals.async_wait(asio::posix::stream_descriptor::wait_read, [this](error_code error) {
    if (error) return;
    signalfd_siginfo info{};
    if (::read(signals.native_handle(), &info, sizeof info) == sizeof info) {
      log::info("got signal {}", info.ssi_signo);
      begin_stop(leaving ? StopMode::kCancel : StopMode::kDrain, options.signal_patience);
    }
    watch_signals();
  });
}

void Server::Impl::begin_stop(StopMode mode, std::chrono::milliseconds patience) {
  if (!leaving.exchange(true)) {
    log::info("leaving; {} requests are running", counts->running.load());
    listener.remove_socket();
    error_code ignored;
    acceptor.close(ignored);
    accept_timer.cancel();
    for_each_connection([](Connection& connection) { connection.leave(); });
    stop_timer.expires_after(patience);
    stop_timer.async_wait([this](error_code error) {
      if (!error) cancel_running();
    });
  }
  if (mode == StopMode::kCancel) cancel_running();
  end_if_closed();
}

void Server::Impl::cancel_running() {
  if (std::exchange(cancelled, true)) return;
  for_each_connection([](Connection& connection) { connection.abandon_all(); });
  stop_timer.expires_after(options.cancel_patience);
  stop_timer.async_wait([this](error_code error) {
    if (error) return;
    for_each_connection([this](Connection& connection) {
      clean = clean && connection.pending() == 0;
      connection.close();
    });
    if (!clean) log::error("leaving with {} requests unanswered", counts->running.load());
  });
}

void Server::Impl::end_if_closed() {
  if (leaving && connections.empty()) io.stop();
}

Server::Server(Listener& listener, const Binder& binder, ServerOptions options) {
  if (options.handle_signals) {
    const sigset_t set = stop_signals();
    ::pthread_sigmask(SIG_BLOCK, &set, nullptr);  // before Impl starts the workers
  }
  impl_ = std::make_unique<Impl>(listener, binder, options);
}

Server::~Server() = default;

bool Server::run() {
  const auto keep = asio::make_work_guard(impl_->io);
  impl_->accept();
  impl_->io.run();
  return impl_->clean;
}

void Server::stop(StopMode mode) {
  asio::post(impl_->io, [impl = impl_.get(), mode] { impl->begin_stop(mode, impl->options.drain_patience); });
}

bool Server::is_leaving() const {
  return impl_->leaving;
}

ServerCounts Server::counts() const {
  return impl_->counts->now();
}

}  // namespace kvboost::daemon
