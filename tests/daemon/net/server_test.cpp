// SPDX-License-Identifier: Apache-2.0
// The server over real sockets: answers, errors, streams, cancellation, clients that misbehave, and how it
// leaves.
#include "daemon/net/server.h"

#include <atomic>
#include <latch>
#include <vector>

#include "daemon/protocol/rpc.h"
#include "tests/daemon/net/line_client.h"
#include "tests/daemon/net/running_server.h"
#include "tests/daemon/net/test_methods.h"

namespace kvboost::daemon {
namespace {

using nlohmann::json;
using protocol::AskProgress;
using protocol::AskToken;
using protocol::ModelUseParams;
using protocol::Nothing;
using testing_net::bind_echo;
using testing_net::LineClient;
using testing_net::RunningServer;
using testing_net::Waiting;
using Context = RequestContext;

TEST(Server, AnswersOnBothKindsOfThreads) {
  for (const RunOn run_on : {RunOn::kIo, RunOn::kWorker}) {
    RunningServer running;
    bind_echo(running.binder(), run_on);
    running.start();
    LineClient client(running.socket());
    client.request(1, "echo", {{"model", "x"}});
    EXPECT_EQ(client.receive(), json({{"jsonrpc", "2.0"}, {"id", 1}, {"result", {{"model", "x"}}}}));
    client.request("two", "echo", {{"model", {{"base64", "/w=="}}}});
    EXPECT_EQ(client.receive(),
              json({{"jsonrpc", "2.0"}, {"id", "two"}, {"result", {{"model", {{"base64", "/w=="}}}}}}));
  }
}

TEST(Server, ErrorsCarryCodeAndRemedy) {
  RunningServer running;
  bind_echo(running.binder());
  running.binder().add<Nothing, Nothing>("missing", RunOn::kWorker,
                                         [](const Context&, Nothing, const Reply<Nothing>& reply) {
                                           reply(fail(ErrorCode::kNotFound, "no model \xff", "add one"));
                                         });
  running.binder().add<Nothing, Nothing>(
      "throw", RunOn::kWorker,
      [](const Context&, Nothing, const Reply<Nothing>&) { throw std::runtime_error("it broke"); });
  running.binder().add<Nothing, Nothing>("throw_io", RunOn::kIo,
                                         [](const Context&, Nothing, const Reply<Nothing>&) { throw 7; });
  running.binder().add<Nothing, Nothing>("forget", RunOn::kWorker,
                                         [](const Context&, Nothing, const Reply<Nothing>&) {});
  running.start();
  LineClient client(running.socket());

  client.request(1, "missing");
  auto error = client.receive()->at("error");
  EXPECT_EQ(error["code"], -32001);
  EXPECT_EQ(error["message"], "no model \xef\xbf\xbd");
  EXPECT_EQ(error["data"], json({{"code", "not_found"}, {"remedy", "add one"}}));

  client.request(2, "throw");
  error = client.receive()->at("error");
  EXPECT_EQ(error["code"], -32603);
  EXPECT_EQ(error["message"], "throw failed: it broke");
  client.request(3, "throw_io");
  EXPECT_EQ(client.receive()->at("error")["data"]["code"], "internal");
  client.request(4, "forget");
  EXPECT_EQ(client.receive()->at("error")["message"], "the request was dropped without an answer");

  client.request(5, "nonsense");
  EXPECT_EQ(client.receive()->at("error")["code"], protocol::kMethodNotFound);
  client.request(6, "echo", {{"model", 3}});
  error = client.receive()->at("error");
  EXPECT_EQ(error["code"], -32602);
  EXPECT_NE(error["message"].get<std::string>().find("field 'model'"), std::string::npos);
  EXPECT_EQ(running.server().counts().running, 0);
}

TEST(Server, BadLinesAreAnsweredAndTheConnectionGoesOn) {
  RunningServer running;
  bind_echo(running.binder());
  running.start();
  LineClient client(running.socket());
  client.send_bytes("not json\n{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}\n\r\n[]\n");
  for (const int code : {protocol::kParseError, protocol::kParseError, protocol::kInvalidRequest}) {
    const auto message = client.receive();
    ASSERT_TRUE(message);
    EXPECT_EQ(message->at("error")["code"], code);
    EXPECT_TRUE(message->at("id").is_null());
  }
  client.send_bytes("{\"jsonrpc\":\"2.0\",\"method\":\"$/cancelRequest\"}\n");
  client.send_bytes("{\"jsonrpc\":\"2.0\",\"method\":\"$/cancelRequest\",\"params\":{\"id\":{}}}\n");
  client.send_bytes("{\"jsonrpc\":\"2.0\",\"id\":99,\"result\":1}\n");
  client.send_bytes("{\"jsonrpc\":\"2.0\",\"id\":7,\"met");
  client.send_bytes("hod\":\"echo\",\"params\":{\"model\":\"m\"}}\r\n");
  EXPECT_EQ(client.receive()->at("id"), 7);
}

TEST(Server, ALineWithoutEndIsRefusedAndTheConnectionClosed) {
  RunningServer running;
  bind_echo(running.binder());
  running.start();
  LineClient client(running.socket());
  client.send_bytes(std::string(protocol::kMaxMessageBytes + 1, 'x'));
  const auto message = client.receive();
  ASSERT_TRUE(message);
  EXPECT_EQ(message->at("error")["data"]["code"], "protocol");
  EXPECT_FALSE(client.receive()) << "the connection is closed";
  LineClient other(running.socket());
  other.request(1, "echo", {{"model", "m"}});
  EXPECT_TRUE(other.receive());
}

TEST(Server, NotificationsCarryTheIdAndComeBeforeTheAnswer) {
  RunningServer running;
  running.binder().add<Nothing, Nothing>(
      "stream", RunOn::kWorker, [](const Context& context, Nothing, const Reply<Nothing>& reply) {
        for (int i = 0; i < 100; ++i) {
          EXPECT_TRUE(context.notify("ask/token", AskToken{std::to_string(i)}));
        }
        reply(Nothing{});
        EXPECT_FALSE(context.notify("ask/token", AskToken{"late"}));
        reply(Nothing{});
      });
  running.start();
  LineClient client(running.socket());
  client.request("s", "stream");
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(client.receive(), json({{"jsonrpc", "2.0"},
                                      {"method", "ask/token"},
                                      {"params", {{"id", "s"}, {"text", std::to_string(i)}}}}));
  }
  EXPECT_EQ(client.receive()->at("result"), json::object());
  client.request("t", "stream");
  EXPECT_EQ(client.receive()->at("params")["id"], "t") << "neither a late token nor a second answer came";
  EXPECT_EQ(client.receive_answer()->at("id"), "t");
}

TEST(Server, TellsWhenTheFirstTokenWasWritten) {
  RunningServer running;
  std::atomic<bool> good = false;
  running.binder().add<Nothing, Nothing>(
      "stream", RunOn::kWorker, [&](const Context& context, Nothing, const Reply<Nothing>& reply) {
        context.notify("ask/progress", AskProgress{.stage = "prefill"});
        const bool before = context.written_at("ask/token").has_value();
        const auto asked = RequestContext::Clock::now();
        context.notify("ask/token", AskToken{"a"});
        const auto first = context.written_at("ask/token", std::chrono::minutes(1));
        context.notify("ask/token", AskToken{"b"});
        good = !before && first && *first >= asked && context.received() <= asked &&
               context.written_at("ask/progress") <= first && !context.written_at("other");
        reply(Nothing{});
      });
  running.start();
  LineClient client(running.socket());
  client.request(1, "stream");
  EXPECT_TRUE(client.receive_answer());
  EXPECT_TRUE(good);
}

TEST(Server, CancelReachesTheOneRequest) {
  Waiting waiting;
  RunningServer running;
  waiting.bind(running.binder());
  running.start();
  LineClient client(running.socket());
  client.request(1, "wait");
  client.request("1", "wait");
  client.cancel("1");
  auto answer = client.receive();
  EXPECT_EQ(answer->at("id"), "1");
  EXPECT_EQ(answer->at("error")["code"], -32005);
  EXPECT_EQ(waiting.stopped(), 1);
  client.cancel(5);
  client.cancel(1);
  answer = client.receive();
  EXPECT_EQ(answer->at("id"), 1);
  EXPECT_EQ(answer->at("error")["code"], -32005);
}

TEST(Server, HangingUpCancelsWhatRuns) {
  Waiting waiting;
  RunningServer running;
  waiting.bind(running.binder());
  running.start();
  {
    LineClient client(running.socket());
    client.request(1, "wait");
    client.request(2, "wait");
    waiting.wait_started(2);
  }
  waiting.wait_stopped(2);
}

TEST(Server, AClosedWritingSideStillGetsItsAnswers) {
  RunningServer running;
  Waiting waiting;
  waiting.bind(running.binder());
  std::latch go(1);
  running.binder().add<Nothing, Nothing>("slow", RunOn::kWorker,
                                         [&](const Context& context, Nothing, const Reply<Nothing>& reply) {
                                           go.wait();
                                           EXPECT_FALSE(context.stop().stop_requested());
                                           reply(Nothing{});
                                         });
  running.start();
  LineClient client(running.socket());
  client.request(1, "slow");
  client.shut_down_writing();
  LineClient other(running.socket());
  other.request(1, "wait");
  other.shut_down_writing();
  waiting.wait_started(1);
  go.count_down();
  EXPECT_EQ(client.receive()->at("id"), 1);
  EXPECT_FALSE(client.receive()) << "then the connection is closed";
  other.hang_up();
  waiting.wait_stopped(1);
}

TEST(Server, AClientThatDoesNotReadIsBounded) {
  RunningServer running;
  std::latch full(1);
  std::latch read(1);
  running.binder().add<Nothing, Nothing>(
      "flood", RunOn::kWorker, [&](const Context& context, Nothing, const Reply<Nothing>& reply) {
        std::int64_t taken = 0;
        const AskToken token{std::string(1000, 'x')};
        while (context.notify("ask/token", token)) ++taken;
        EXPECT_LT(taken, 10'000) << "a socket's buffer and one MiB are far less";
        full.count_down();
        read.wait();
        reply(Nothing{});
      });
  bind_echo(running.binder());
  running.start();
  LineClient client(running.socket());
  client.request(1, "flood");
  full.wait();
  LineClient other(running.socket());
  other.request(1, "echo", {{"model", "m"}});
  EXPECT_TRUE(other.receive()) << "others are served meanwhile";
  read.count_down();
  EXPECT_EQ(client.receive_answer()->at("id"), 1) << "the answer comes whatever was dropped";
}

TEST(Server, AClientThatOnlyAsksIsReadNoFurther) {
  RunningServer running;
  bind_echo(running.binder());
  running.start();
  LineClient client(running.socket());
  constexpr int kCount = 3000;
  const std::string text(4000, 'x');
  std::thread sender([&] {
    for (int i = 0; i < kCount; ++i) client.request(i, "echo", {{"model", text}});
  });
  for (int i = 0; i < kCount; ++i) {
    const auto answer = client.receive();
    if (!answer || !answer->contains("result")) {
      ADD_FAILURE() << i << (answer ? answer->dump() : "the connection was closed");
      client.hang_up();
      break;
    }
  }
  sender.join();
}

TEST(Server, TooManyRequestsAndRepeatedIdsAreRefused) {
  Waiting waiting;
  RunningServer running;
  waiting.bind(running.binder());
  running.start({.max_pending = 2});
  LineClient client(running.socket());
  client.request(1, "wait");
  client.request(1, "wait");
  auto answer = client.receive();
  EXPECT_EQ(answer->at("error")["code"], protocol::kInvalidRequest);
  EXPECT_TRUE(answer->at("id").is_null());
  client.request(2, "wait");
  client.request(3, "wait");
  answer = client.receive();
  EXPECT_EQ(answer->at("id"), 3);
  EXPECT_EQ(answer->at("error")["data"]["code"], "busy");
  client.cancel(1);
  EXPECT_EQ(client.receive()->at("id"), 1);
  client.request(1, "wait");
  client.cancel(1);
  EXPECT_EQ(client.receive()->at("error")["data"]["code"], "cancelled")
      << "the id and its place are free again";
}

TEST(Server, ManyClientsAtOnce) {
  RunningServer running;
  bind_echo(running.binder(), RunOn::kWorker);
  running.start();
  std::vector<std::thread> threads;
  std::atomic<int> right = 0;
  for (int c = 0; c < 16; ++c) {
    threads.emplace_back([&, c] {
      LineClient client(running.socket());
      for (int i = 0; i < 100; ++i) {
        const std::string text = std::to_string(c) + ":" + std::to_string(i);
        client.request(i, "echo", {{"model", text}});
        const auto answer = client.receive();
        if (answer && answer->at("id") == i && answer->at("result")["model"] == text) ++right;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(right, 1600);
  EXPECT_EQ(running.server().counts().running, 0);
}

TEST(Server, TooManyConnectionsAreTurnedAway) {
  RunningServer running;
  bind_echo(running.binder());
  running.start({.max_connections = 1});
  LineClient first(running.socket());
  first.request(1, "echo", {{"model", "m"}});
  EXPECT_TRUE(first.receive());
  LineClient second(running.socket());
  EXPECT_FALSE(second.receive());
}

}  // namespace
}  // namespace kvboost::daemon
