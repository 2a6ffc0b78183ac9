// SPDX-License-Identifier: Apache-2.0
// Calls through a connection: answers, streams, errors, cancellation, a daemon that dies or is none.
#include "cli/client.h"

#include <sys/socket.h>
#include <sys/wait.h>

#include <nlohmann/json.hpp>

#include "base/unix_socket.h"
#include "tests/cli/client_fixture.h"

namespace kvboost::cli {
namespace {

using protocol::AskResult;

class ClientTest : public ClientFixture {};

TEST_F(ClientTest, StreamsThenAnswers) {
  auto client = Client::connect(options("a"));
  ASSERT_TRUE(client) << client.error().text();
  EXPECT_EQ(client->server().build, "a");
  EXPECT_EQ(client->server().options.at("socket"), (top_ / "d.sock").string());
  std::string streamed;
  for (int round = 0; round < 3; ++round) {
    streamed.clear();
    const auto result = client->call<AskResult>(
        "ask", ask("why?"), [&](std::string_view method, const nlohmann::json& params) {
          EXPECT_EQ(method, "ask/token");
          streamed += protocol::decode<protocol::AskToken>(params).value().text;
        });
    ASSERT_TRUE(result) << result.error().text();
    EXPECT_EQ(result->text, "why?");
    EXPECT_EQ(streamed, "why?");
  }
}

TEST_F(ClientTest, ErrorsComeAsTheyWere) {
  auto client = Client::connect(options("a"));
  ASSERT_TRUE(client) << client.error().text();
  const auto result = client->call<AskResult>("ask", ask("fail"));
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::kModel);
  EXPECT_EQ(result.error().message, "no model");
  EXPECT_EQ(result.error().remedy, "kvboost model add");
  auto bad = ask("x");
  bad.max_tokens = -1;
  EXPECT_EQ(client->call<AskResult>("ask", bad).error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(client->call<AskResult>("nonsense", ask("x")).error().code, ErrorCode::kProtocol);
  EXPECT_TRUE(client->call<AskResult>("ask", ask("still there"))) << "the connection goes on";
}

TEST_F(ClientTest, LargeMessagesPassBothWays) {
  auto client = Client::connect(options("a"));
  ASSERT_TRUE(client) << client.error().text();
  auto params = ask("q");
  params.paths.assign(20'000, std::string(200, 'p'));
  EXPECT_TRUE(client->call<AskResult>("ask", params));
  EXPECT_EQ(client->call<AskResult>("ask", ask(std::string(200'000, 'q'))).value().text.size(), 200'000U);
}

TEST_F(ClientTest, StopCancelsInTheDaemonToo) {
  auto client = Client::connect(options("a"));
  ASSERT_TRUE(client) << client.error().text();
  std::stop_source stop;
  const auto result = client->call<AskResult>(
      "ask", ask("wait"), [&](std::string_view, const nlohmann::json&) { stop.request_stop(); },
      stop.get_token());
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::kCancelled);
  EXPECT_TRUE(std::filesystem::exists(top_ / "cancelled"));
  EXPECT_TRUE(client->call<AskResult>("ask", ask("next")));
}

TEST_F(ClientTest, AClientThatIsKilledCancelsWhatItAsked) {
  const auto keeper = Client::connect(options("a"));
  ASSERT_TRUE(keeper) << keeper.error().text();
  const pid_t child = ::fork();
  if (child == 0) {
    auto client = Client::connect(options("a"));
    if (client) {
      (void)client->call<AskResult>(
          "ask", ask("wait"), [](std::string_view, const nlohmann::json&) { ::kill(::getpid(), SIGKILL); });
    }
    ::_exit(1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status));
  wait_for_file(top_ / "cancelled");
}

TEST_F(ClientTest, ADaemonThatDiesIsAnError) {
  auto client = Client::connect(options("a"));
  ASSERT_TRUE(client) << client.error().text();
  const auto result = client->call<AskResult>("ask", ask("die"));
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::kIo);
  EXPECT_NE(result.error().message.find("closed the connection"), std::string::npos);
}

TEST_F(ClientTest, WhatIsNoDaemonIsNamed) {
  const auto listener = listen_unix(top_ / "d.sock");
  ASSERT_TRUE(listener);
  std::thread impostor([&] {
    const FileDescriptor peer(::accept4(listener->get(), nullptr, nullptr, SOCK_CLOEXEC));
    ::send(peer.get(), "HTTP/1.1 400 Bad Request\n", 25, MSG_NOSIGNAL);
    char letter = 0;
    while (::recv(peer.get(), &letter, 1, 0) > 0) {
    }
  });
  const auto client = Client::connect(options("a"));
  impostor.join();
  ASSERT_FALSE(client);
  EXPECT_EQ(client.error().code, ErrorCode::kProtocol);
}

}  // namespace
}  // namespace kvboost::cli
