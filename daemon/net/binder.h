// SPDX-License-Identifier: Apache-2.0
// Binder: the method table, and the last place that knows JSON. A handler is
//
//   void handle(RequestContext context, Params params, Reply<Value> reply)
//
// and answers whenever it likes, from any thread. `add` at start, before the server runs; afterwards the
// table is only read. An exception out of a handler becomes a kInternal answer.
//
//   binder.add<protocol::AskParams, protocol::AskResult>("ask", RunOn::kIo, [&](auto context, auto params,
//   auto reply) {
//     scheduler.submit(…, [=] { context.notify("ask/token", protocol::AskToken{"Hi"}); reply(result); });
//   });
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "daemon/protocol/methods.h"

namespace kvboost::daemon {

class Call;

/// Where a handler starts. kIo: on the io thread, so it may only hand the work over; kWorker: on the server's
/// few worker threads, where it may read files, but then not for long.
enum class RunOn { kIo, kWorker };

/// One request, as its handler sees it. Copyable; any thread.
class RequestContext {
 public:
  using Clock = std::chrono::steady_clock;

  explicit RequestContext(std::shared_ptr<Call> call) : call_(std::move(call)) {}

  /// Asked to stop: by $/cancelRequest, because the client hung up, or by a daemon that leaves. Callbacks on
  /// it run on the io thread, so they must be quick.
  [[nodiscard]] std::stop_token stop() const;
  /// Number of the client's connection.
  [[nodiscard]] std::uint64_t session() const;
  /// When the last byte of the request was read.
  [[nodiscard]] Clock::time_point received() const;

  /// Figures for this request's line in the log, before its answer; never a user's text.
  void describe(std::string figures) const;

  /// Sends a notification that carries the request's id, before the answer. False if it was not taken: the
  /// client does not read (its queue is full), has gone, or has been answered.
  template <class Params>
  bool notify(std::string_view method, const Params& params) const {
    return notify_text(method, protocol::encode_text(params));
  }
  /// When the first byte of this request's first notification `method` was written to the socket; waits up to
  /// `wait` for it. For TTFT: `written_at("ask/token", 50ms)` minus `received()`.
  [[nodiscard]] std::optional<Clock::time_point> written_at(
      std::string_view method, std::chrono::milliseconds wait = std::chrono::milliseconds(0)) const;

 private:
  bool notify_text(std::string_view method, std::string params) const;

  std::shared_ptr<Call> call_;
};

/// Answers one request when called, the first time; further calls do nothing. If the last copy goes without
/// having been called, the client is told so (kInternal). Copyable; any thread.
class AnyReply {
 public:
  explicit AnyReply(std::shared_ptr<Call> call);
  /// `result` is JSON text.
  void give(Result<std::string> result) const;

 private:
  class Guard;
  std::shared_ptr<Guard> guard_;
};

template <class Value>
class Reply {
 public:
  explicit Reply(AnyReply reply) : reply_(std::move(reply)) {}

  void operator()(const Result<Value>& outcome) const {
    if (outcome) {
      reply_.give(protocol::encode_text(*outcome));
    } else {
      reply_.give(fail(outcome.error()));
    }
  }

 private:
  AnyReply reply_;
};

class Binder {
 public:
  template <class Params, class Value>
  void add(std::string method, RunOn run_on,
           std::function<void(RequestContext, Params, Reply<Value>)> handler) {
    add_any(
        std::move(method), run_on,
        [handler = std::move(handler)](RequestContext context, const nlohmann::json& json, AnyReply reply) {
          auto params = protocol::decode<Params>(json);
          if (!params) return reply.give(fail(params.error()));
          handler(std::move(context), std::move(*params), Reply<Value>(std::move(reply)));
        });
  }

  /// Nothing if there is no such method.
  [[nodiscard]] std::optional<RunOn> find(std::string_view method) const;
  /// Calls the handler of `method`, which must be in the table, on this thread.
  void dispatch(std::string_view method, const std::shared_ptr<Call>& call,
                const nlohmann::json& params) const;

 private:
  using AnyHandler = std::function<void(RequestContext, const nlohmann::json&, AnyReply)>;
  struct Entry {
    RunOn run_on;
    AnyHandler handler;
  };
  void add_any(std::string method, RunOn run_on, AnyHandler handler);

  std::map<std::string, Entry, std::less<>> table_;
};

}  // namespace kvboost::daemon
