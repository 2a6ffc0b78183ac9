// SPDX-License-Identifier: Apache-2.0
// The HTTP server in front of a daemon whose methods do what a test wants: clients that go, do not read, or
// come while the daemon leaves.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <atomic>
#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <thread>

#include "base/file_descriptor.h"
#include "daemon/http/http_server.h"
#include "daemon/protocol/methods.h"
#include "tests/daemon/net/running_server.h"

namespace kvboost::daemon {
namespace {

using protocol::GenerateParams;
using protocol::GenerateResult;
using protocol::GenerateToken;

constexpr const char* kToken = "a-token-of-some-length";

class HttpServerTest : public testing::Test {
 protected:
  /// `generate` writes pieces until it is stopped or not listened to; with max_tokens, so many.
  void SetUp() override {
    daemon_.binder().add<GenerateParams, GenerateResult>(
        "generate", RunOn::kWorker, [this](const auto& context, const auto& params, const auto& reply) {
          ++started_;
          started_.notify_all();
          GenerateResult result{.finish_reason = "length", .model = "m"};
          for (int i = 0; i < params.max_tokens; ++i) {
            const bool is_heard = context.notify("generate/token", GenerateToken{std::string(100, 'x')});
            if (context.stop().stop_requested() || !is_heard) {
              unheard_ = !is_heard && !context.stop().stop_requested();
              stopped_ = true;
              stopped_.notify_all();
              return reply(fail(ErrorCode::kCancelled, "cancelled"));
            }
            ++pieces_;
            std::this_thread::sleep_for(std::chrono::milliseconds(pause_ms_));
          }
          reply(result);
        });
    daemon_.start();
    auto http = HttpServer::open({.port = 0, .token = kToken});
    ASSERT_TRUE(http) << http.error().message;
    http_.emplace(std::move(*http));
    http_->start(daemon_.socket());
  }

  [[nodiscard]] FileDescriptor connect(int receive_bytes = 0) const {
    FileDescriptor client(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (receive_bytes > 0)
      ::setsockopt(client.get(), SOL_SOCKET, SO_RCVBUF, &receive_bytes, sizeof receive_bytes);
    const std::string address = http_->address();
    sockaddr_in place{};
    place.sin_family = AF_INET;
    place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    place.sin_port = htons(static_cast<std::uint16_t>(std::stoi(address.substr(address.rfind(':') + 1))));
    EXPECT_EQ(::connect(client.get(), reinterpret_cast<const sockaddr*>(&place), sizeof place), 0);
    return client;
  }
  static void send(const FileDescriptor& client, const std::string& text) {
    ASSERT_EQ(::send(client.get(), text.data(), text.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(text.size()));
  }
  static std::string request(int n_predict, bool stream = true) {
    const std::string body =
        nlohmann::json{{"prompt", "a"}, {"n_predict", n_predict}, {"stream", stream}}.dump();
    return std::string("POST /completion HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ") + kToken +
           "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
  }
  /// What comes until the other side closes, or the text is there.
  static std::string read_to(const FileDescriptor& client, const std::string& text = {}) {
    std::string all;
    char buffer[4096];
    for (ssize_t count = 0; (count = ::recv(client.get(), buffer, sizeof buffer, 0)) > 0;) {
      all.append(buffer, static_cast<std::size_t>(count));
      if (!text.empty() && all.contains(text)) break;
    }
    return all;
  }

  testing_net::RunningServer daemon_;
  std::optional<HttpServer> http_;
  std::atomic<int> pause_ms_ = 0;  // between two pieces
  std::atomic<int> started_ = 0;
  std::atomic<int> pieces_ = 0;
  std::atomic<bool> stopped_ = false, unheard_ = false;
};

TEST_F(HttpServerTest, AStreamComesWholeAndTheConnectionStays) {
  const FileDescriptor client = connect();
  for (int i = 0; i < 2; ++i) {
    send(client, request(3));
    const std::string answer = read_to(client, "\r\n0\r\n\r\n");
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 200 OK\r\n")) << answer;
    EXPECT_TRUE(answer.contains("\"stop\":true")) << answer;
  }
  EXPECT_EQ(pieces_, 6);
}

TEST_F(HttpServerTest, AClientThatHasGoneStopsItsRequest) {
  pause_ms_ = 1;
  for (const bool stream : {true, false}) {
    stopped_ = false;
    FileDescriptor client = connect();
    send(client, request(1'000'000, stream) + "GET /health HT");
    if (stream) {
      EXPECT_TRUE(read_to(client, "data: ").starts_with("HTTP/1.1 200"));
    }
    started_.wait(stream ? 0 : 1);
    client.close();
    stopped_.wait(false);
    EXPECT_FALSE(unheard_);
  }
}

TEST_F(HttpServerTest, AClientThatDoesNotReadIsNotWrittenForWithoutABound) {
  const FileDescriptor client = connect(4096);
  send(client, request(1'000'000));
  stopped_.wait(false);
  EXPECT_TRUE(unheard_);
  EXPECT_LT(pieces_, 200'000) << "what waits is bounded by the buffers on the way";
  const std::string answer = read_to(client, "\r\n0\r\n\r\n");
  EXPECT_TRUE(answer.contains("\"error\"")) << "what came is told to be no whole text";
}

TEST_F(HttpServerTest, ADaemonThatLeavesEndsTheStreamWithAnError) {
  pause_ms_ = 1;
  const FileDescriptor client = connect();
  send(client, request(1'000'000));
  EXPECT_TRUE(read_to(client, "data: ").starts_with("HTTP/1.1 200"));
  const FileDescriptor idle = connect();
  EXPECT_TRUE(daemon_.stop(StopMode::kCancel));
  const std::string rest = read_to(client, "\r\n0\r\n\r\n");
  EXPECT_TRUE(rest.contains("\"code\":503"))
      << rest.substr(rest.size() - std::min<std::size_t>(rest.size(), 300));
  const FileDescriptor late = connect();
  send(late, request(1));
  EXPECT_TRUE(read_to(late, "}}").starts_with("HTTP/1.1 503"));
  http_.reset();
  EXPECT_EQ(read_to(idle), "");
}

TEST_F(HttpServerTest, APortIsTakenOnce) {
  const std::string address = http_->address();
  const auto again =
      HttpServer::open({.port = static_cast<std::uint16_t>(std::stoi(address.substr(address.rfind(':') + 1))),
                        .token = kToken});
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, ErrorCode::kBusy);
}

}  // namespace
}  // namespace kvboost::daemon
