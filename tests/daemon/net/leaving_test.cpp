// SPDX-License-Identifier: Apache-2.0
// How the server leaves: drained, cancelled, by signal, for another build; and whom it does not let in.
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <csignal>
#include <cstdio>
#include <latch>
#include <thread>

#include "daemon/net/lifecycle.h"
#include "daemon/net/server.h"
#include "tests/daemon/net/line_client.h"
#include "tests/daemon/net/running_server.h"
#include "tests/daemon/net/test_methods.h"

namespace kvboost::daemon {
namespace {

using nlohmann::json;
using protocol::Nothing;
using testing_net::bind_echo;
using testing_net::LineClient;
using testing_net::RunningServer;
using testing_net::Waiting;
using Context = RequestContext;

TEST(Leaving, DrainingFinishesWhatRuns) {
  RunningServer running;
  std::latch go(1);
  std::latch started(1);
  running.binder().add<Nothing, Nothing>("slow", RunOn::kWorker,
                                         [&](const Context& context, Nothing, const Reply<Nothing>& reply) {
                                           started.count_down();
                                           go.wait();
                                           EXPECT_FALSE(context.stop().stop_requested());
                                           reply(Nothing{});
                                         });
  bind_echo(running.binder());
  running.make();
  bind_lifecycle(running.binder(), running.server(), {"0.1.0", "test", {}});
  running.start();
  LineClient idle(running.socket());
  LineClient client(running.socket());
  client.request(1, "slow");
  started.wait();
  LineClient closer(running.socket());
  closer.request(1, "shutdown");
  EXPECT_EQ(closer.receive()->at("result"), json::object());
  EXPECT_FALSE(closer.receive());
  EXPECT_FALSE(idle.receive()) << "idle connections are closed";
  EXPECT_FALSE(std::filesystem::exists(running.socket()));
  EXPECT_TRUE(LockFile::holder(running.files().lock).value()) << "it still holds the lock";
  client.request(2, "echo", {{"model", "m"}});
  EXPECT_EQ(client.receive()->at("error")["data"]["code"], "busy");
  go.count_down();
  EXPECT_EQ(client.receive()->at("id"), 1);
  EXPECT_TRUE(running.join());
}

TEST(Leaving, CancellingStopsWhatRuns) {
  Waiting waiting;
  RunningServer running;
  waiting.bind(running.binder());
  running.start();
  LineClient client(running.socket());
  client.request(1, "wait");
  waiting.wait_started(1);
  EXPECT_TRUE(running.stop(StopMode::kCancel));
  EXPECT_EQ(client.receive()->at("error")["data"]["code"], "busy") << "the client did not cancel it";
}

TEST(Leaving, DrainingEndsInCancellingWhenPatienceIsOver) {
  Waiting waiting;
  RunningServer running;
  waiting.bind(running.binder());
  running.start({.drain_patience = std::chrono::milliseconds(1)});
  LineClient client(running.socket());
  client.request(1, "wait");
  waiting.wait_started(1);
  EXPECT_TRUE(running.stop(StopMode::kDrain));
  EXPECT_EQ(client.receive()->at("error")["data"]["code"], "busy") << "the client did not cancel it";
}

TEST(Leaving, LeavesWithoutAHandlerThatHangs) {
  std::optional<Reply<Nothing>> kept;
  RunningServer running;
  std::latch started(1);
  running.binder().add<Nothing, Nothing>("hang", RunOn::kIo,
                                         [&](const Context&, Nothing, const Reply<Nothing>& reply) {
                                           kept = reply;
                                           started.count_down();
                                         });
  running.start({.cancel_patience = std::chrono::milliseconds(1)});
  LineClient client(running.socket());
  client.request(1, "hang");
  started.wait();
  EXPECT_FALSE(running.stop(StopMode::kCancel));
  EXPECT_FALSE(client.receive());
  (*kept)(Nothing{});
}

TEST(Leaving, HandshakeTellsBuildAndLeavesForAnother) {
  RunningServer running;
  running.make();
  bind_lifecycle(running.binder(), running.server(), {"0.1.0", "build-a", {{"threads", "2"}}});
  running.start();
  LineClient same(running.socket());
  same.request(1, "initialize", {{"protocol_version", 1}, {"client", "t"}, {"build", "build-a"}});
  const auto result = same.receive()->at("result");
  EXPECT_EQ(result["leaving"], false);
  EXPECT_EQ(result["build"], "build-a");
  EXPECT_EQ(result["pid"], ::getpid());
  EXPECT_EQ(result["options"], json({{"threads", "2"}}));
  LineClient editor(running.socket());
  editor.request(1, "initialize", {{"protocol_version", 1}});
  EXPECT_EQ(editor.receive()->at("result")["leaving"], false) << "a client without a build takes any";
  editor.request(2, "initialize", {{"protocol_version", 2}});
  EXPECT_EQ(editor.receive()->at("error")["data"]["code"], "protocol");
  LineClient other(running.socket());
  other.request(1, "initialize", {{"protocol_version", 9}, {"client", "t"}, {"build", "build-b"}});
  EXPECT_EQ(other.receive()->at("result")["leaving"], true);
  EXPECT_TRUE(running.join());
}

TEST(Leaving, RefusesOtherUsers) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to become another user";
  RunningServer running;
  bind_echo(running.binder());
  running.start();
  ASSERT_EQ(::chmod(running.socket().parent_path().c_str(), 0755), 0);
  ASSERT_EQ(::chmod(running.socket().c_str(), 0666), 0) << "even if the mode let them in";
  const pid_t child = ::fork();
  if (child == 0) {
    if (::setuid(12345) != 0) ::_exit(3);
    const FileDescriptor fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::snprintf(address.sun_path, sizeof address.sun_path, "%s", running.socket().c_str());
    if (::connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) ::_exit(2);
    char letter = 0;
    ::_exit(::recv(fd.get(), &letter, 1, 0) <= 0 ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_EQ(running.server().counts().connections, 0);
}

TEST(Leaving, SignalsDrainAndThenCancel) {
  const pid_t child = ::fork();
  if (child == 0) {
    Waiting waiting;
    RunningServer running;
    waiting.bind(running.binder());
    running.make({.handle_signals = true});
    running.start();
    LineClient client(running.socket());
    client.request(1, "wait");
    waiting.wait_started(1);
    ::kill(::getpid(), SIGTERM);
    while (!running.server().is_leaving()) std::this_thread::yield();
    const bool drained_only = waiting.stopped() == 0;
    ::kill(::getpid(), SIGINT);
    const auto answer = client.receive();
    const bool cancelled = answer && answer->at("error")["data"]["code"] == "busy";
    ::_exit(running.join() && drained_only && cancelled ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

}  // namespace
}  // namespace kvboost::daemon
