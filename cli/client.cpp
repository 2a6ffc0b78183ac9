// SPDX-License-Identifier: Apache-2.0
#include "cli/client.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>
#include <utility>
#include <variant>

#include "base/lock_file.h"
#include "base/unix_socket.h"
#include "cli/start_daemon.h"
#include "cli/stop_event.h"
#include "daemon/protocol/rpc.h"

namespace kvboost::cli {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kHandshakePatience{10'000};
constexpr milliseconds kLeavePatience{60'000};  // an old daemon finishes its requests first
constexpr milliseconds kStartPatience{60'000};  // another client's start of the daemon
constexpr milliseconds kCancelPatience{2'000};
constexpr milliseconds kPoll{5};
constexpr int kMaxRounds = 10;  // of connecting anew, before something is plainly wrong

std::unexpected<Error> cancelled() {
  return fail(ErrorCode::kCancelled, "cancelled");
}

std::unexpected<Error> lost() {
  return fail(ErrorCode::kIo, "the daemon closed the connection",
              "its log may tell why: `kvboost daemon logs`");
}

int milliseconds_until(const std::optional<Clock::time_point>& deadline) {
  if (!deadline) return -1;
  const auto left = std::chrono::ceil<milliseconds>(*deadline - Clock::now()).count();
  return static_cast<int>(std::max<std::int64_t>(0, left));
}

/// A daemon holds the lock but nobody answers on the socket: it is about to, or it is leaving. Waits for
/// either.
Result<void> wait_for_change(const DaemonFiles& files, const ClientOptions& options) {
  const auto deadline = Clock::now() + kLeavePatience;
  while (!options.stop.stop_requested()) {
    if (connect_unix(files.socket)) return {};
    const auto holder = LockFile::holder(files.lock);
    if (!holder) return fail(holder.error());
    if (!*holder) return {};
    if (Clock::now() >= deadline) {
      return fail(ErrorCode::kBusy, "the daemon (" + **holder + ") is leaving but does not end",
                  "end it by hand, for instance with kill -KILL");
    }
    std::this_thread::sleep_for(kPoll);
  }
  return cancelled();
}

/// Starts the daemon unless somebody else has just done so.
Result<void> start(const DaemonFiles& files, const ClientOptions& options) {
  const auto lock = LockFile::acquire_within(files.start_lock, "pid " + std::to_string(::getpid()),
                                             kStartPatience, options.stop);
  if (!lock) return fail(lock.error());
  if (connect_unix(files.socket)) return {};
  const auto holder = LockFile::holder(files.lock);
  if (!holder) return fail(holder.error());
  if (*holder) return {};
  auto program = options.daemon.empty() ? find_daemon() : Result<std::filesystem::path>(options.daemon);
  if (!program) return fail(program.error());
  if (options.on_wait) options.on_wait("starting the daemon");
  return start_daemon(*program, options.daemon_flags, options.stop);
}

}  // namespace

Result<Client> Client::connect(const ClientOptions& options) {
  const auto files = daemon_files(options.socket);
  if (!files) return fail(files.error());
  for (int round = 0; round < kMaxRounds; ++round) {
    if (options.stop.stop_requested()) return cancelled();
    auto socket = connect_unix(files->socket);
    if (socket) {
      Client client(*files, std::move(*socket));
      const auto leaving = client.shake_hands(options);
      if (!leaving) return fail(leaving.error());
      if (!*leaving) return client;
    } else if (socket.error().code != ErrorCode::kNotFound) {
      return fail(socket.error());
    }
    const auto holder = LockFile::holder(files->lock);
    if (!holder) return fail(holder.error());
    if (*holder) {
      if (socket && options.on_wait) options.on_wait("waiting for the daemon of another build to leave");
      if (auto changed = wait_for_change(*files, options); !changed) return fail(changed.error());
      continue;
    }
    if (!options.start_daemon) {
      return fail(ErrorCode::kNotFound, "no daemon is running", "`kvboost daemon start` starts one");
    }
    if (auto started = start(*files, options); !started) return fail(started.error());
  }
  return fail(ErrorCode::kIo, "the daemon ends again and again before it answers",
              "its log may tell why: `kvboost daemon logs`");
}

Result<bool> Client::shake_hands(const ClientOptions& options) {
  const protocol::InitializeParams params{.client = options.name,
                                          .build = options.start_daemon ? options.build : std::string()};
  const auto answer =
      exchange("initialize", protocol::encode_text(params), {}, options.stop, kHandshakePatience);
  if (!answer) {
    const ErrorCode code = answer.error().code;
    if (code == ErrorCode::kBusy || code == ErrorCode::kIo) return true;  // going, or gone
    return fail(answer.error());
  }
  auto server = protocol::decode_text<protocol::InitializeResult>(*answer);
  if (!server) return fail(server.error());
  server_ = std::move(*server);
  return server_.leaving;
}

Result<std::string> Client::exchange(std::string_view method, const std::string& params,
                                     const NotificationSink& sink, const std::stop_token& stop,
                                     std::optional<milliseconds> patience) {
  const protocol::Id id = next_id_++;
  const protocol::Request request{id, std::string(method), nlohmann::json::parse(params)};
  const StopEvent stopped(stop);
  std::optional<Clock::time_point> deadline;
  if (patience) deadline = Clock::now() + *patience;
  bool asked_to_stop = false;
  outgoing_ += protocol::serialise(request) + "\n";
  for (;;) {
    auto answer = take_answer(id, sink);
    if (!answer) return fail(answer.error());
    if (*answer) return std::move(**answer);

    std::array<pollfd, 2> polls = {
        {{.fd = socket_.get(), .events = POLLIN, .revents = 0},
         {.fd = asked_to_stop ? -1 : stopped.fd(), .events = POLLIN, .revents = 0}}};
    if (!outgoing_.empty()) polls[0].events |= POLLOUT;
    const int ready = ::poll(polls.data(), polls.size(), milliseconds_until(deadline));
    if (ready < 0 && errno != EINTR) return fail_errno("cannot wait for the daemon", errno);
    if (ready == 0) {
      if (asked_to_stop) return cancelled();
      return fail(ErrorCode::kProtocol, "the daemon does not answer",
                  "end it by hand, for instance with kill -KILL");
    }
    if (ready < 0) continue;
    if (polls[1].revents != 0) {
      asked_to_stop = true;
      deadline = Clock::now() + kCancelPatience;
      outgoing_ +=
          protocol::serialise(protocol::Notification{"$/cancelRequest", {{"id", protocol::encode_id(id)}}}) +
          "\n";
    }
    if ((polls[0].revents & POLLOUT) != 0) send_some();
    if ((polls[0].revents & (POLLIN | POLLHUP | POLLERR)) != 0 && !receive_some()) return lost();
  }
}

Result<std::optional<std::string>> Client::take_answer(const protocol::Id& id, const NotificationSink& sink) {
  for (;;) {
    auto line = framer_.next();
    if (!line) return fail(line.error());
    if (!*line) return std::nullopt;
    auto message = protocol::parse_message(**line);
    if (!message) {
      return fail(ErrorCode::kProtocol,
                  "the daemon sent what is no message: " + message.error().error.message,
                  "does something else listen on the socket?");
    }
    if (const auto* notification = std::get_if<protocol::Notification>(&*message)) {
      const auto& params = notification->params;
      if (sink && params.is_object() && params.value("id", nlohmann::json()) == protocol::encode_id(id)) {
        sink(notification->method, params);
      }
    } else if (auto* response = std::get_if<protocol::Response>(&*message)) {
      // One without an id says that our line could not be read; one with another id comes too late.
      if (response->id && *response->id != id) continue;
      if (!response->result) return fail(protocol::to_error(response->result.error()));
      return response->result->dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    }
  }
}

void Client::send_some() {
  const ssize_t count =
      ::send(socket_.get(), outgoing_.data(), outgoing_.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  if (count > 0) {
    outgoing_.erase(0, static_cast<std::size_t>(count));
  } else if (count < 0 && errno != EAGAIN && errno != EINTR) {
    outgoing_.clear();  // it hung up; what it had said before that is still to be read
  }
}

bool Client::receive_some() {
  std::array<char, 64 * 1024> piece;
  const ssize_t count = ::recv(socket_.get(), piece.data(), piece.size(), MSG_DONTWAIT);
  if (count > 0) framer_.append({piece.data(), static_cast<std::size_t>(count)});
  return count > 0 || (count < 0 && (errno == EAGAIN || errno == EINTR));
}

bool Client::wait_until_gone(milliseconds patience, std::stop_token stop) const {
  return LockFile::wait_until_free(files_.lock, patience, std::move(stop));
}

}  // namespace kvboost::cli
