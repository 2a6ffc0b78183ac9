// SPDX-License-Identifier: Apache-2.0
// Starting the daemon: alone, twenty at once, over a stale socket, over another build, and when it cannot
// start.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <latch>
#include <set>
#include <utility>

#include "base/unix_socket.h"
#include "cli/start_daemon.h"
#include "tests/cli/client_fixture.h"

namespace kvboost::cli {
namespace {

namespace fs = std::filesystem;
using protocol::AskResult;

class StartTest : public ClientFixture {};

TEST_F(StartTest, WithoutStartingNoneIsFound) {
  ClientOptions reach = options("a");
  reach.start_daemon = false;
  const auto client = Client::connect(reach);
  ASSERT_FALSE(client);
  EXPECT_EQ(client.error().code, ErrorCode::kNotFound);
  EXPECT_FALSE(client.error().remedy.empty());
  EXPECT_TRUE(starts().empty());
}

TEST_F(StartTest, TwentyAtOnceGetOneDaemon) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  std::vector<pid_t> children;
  for (int i = 0; i < 20; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      auto client = Client::connect(options("a"));
      const bool good = client && client->call<AskResult>("ask", ask("hello"));
      const std::int64_t pid = good ? client->server().pid : 0;
      ::_exit(::write(ends[1], &pid, sizeof pid) == sizeof pid && good ? 0 : 1);
    }
    children.push_back(child);
  }
  std::set<std::int64_t> daemons;
  for (const pid_t child : children) {
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
    std::int64_t pid = 0;
    ASSERT_EQ(::read(ends[0], &pid, sizeof pid), static_cast<ssize_t>(sizeof pid));
    daemons.insert(pid);
  }
  EXPECT_EQ(daemons.size(), 1U);
  EXPECT_EQ(starts().size(), 1U);
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST_F(StartTest, TheDaemonIsDetached) {
  // As a script under flock(1) leaves it: an open, locked file that the daemon must not keep.
  const int locked = ::open((top_ / "script.lock").c_str(), O_RDWR | O_CREAT, 0600);
  ASSERT_EQ(::flock(locked, LOCK_EX | LOCK_NB), 0);
  const auto client = Client::connect(options("a"));
  ASSERT_TRUE(client) << client.error().text();
  ::close(locked);
  const int again = ::open((top_ / "script.lock").c_str(), O_RDWR);
  EXPECT_EQ(::flock(again, LOCK_EX | LOCK_NB), 0) << "the daemon holds the caller's lock";
  ::close(again);
  const auto pid = static_cast<pid_t>(client->server().pid);
  EXPECT_NE(::getsid(pid), ::getsid(0));
  const fs::path proc = "/proc/" + std::to_string(pid);
  EXPECT_EQ(fs::read_symlink(proc / "cwd"), "/");
  for (const char* fd : {"0", "1", "2"}) EXPECT_EQ(fs::read_symlink(proc / "fd" / fd), "/dev/null") << fd;
  std::string word;
  for (std::ifstream file(proc / "status"); file >> word;) {
    if (word == "Umask:" && file >> word) break;
  }
  EXPECT_EQ(word, "0077");
}

TEST_F(StartTest, AKilledDaemonIsReplaced) {
  auto first = Client::connect(options("a"));
  ASSERT_TRUE(first) << first.error().text();
  ::kill(static_cast<pid_t>(first->server().pid), SIGKILL);
  EXPECT_TRUE(first->wait_until_gone(std::chrono::minutes(1), {}));
  ASSERT_TRUE(fs::exists(top_ / "d.sock")) << "it could not remove its socket";
  const auto second = Client::connect(options("a"));
  ASSERT_TRUE(second) << second.error().text();
  EXPECT_NE(second->server().pid, first->server().pid);
}

TEST_F(StartTest, AnotherBuildIsDrainedAndReplaced) {
  auto old = Client::connect(options("old"));
  ASSERT_TRUE(old) << old.error().text();
  std::latch running(1);
  Result<AskResult> answer = fail(ErrorCode::kInternal, "not asked");
  std::thread asker([&] {
    bool first = true;
    answer = old->call<AskResult>("ask", ask("slow"), [&](std::string_view, const nlohmann::json&) {
      if (std::exchange(first, false)) running.count_down();
    });
  });
  running.wait();
  std::string said;
  ClientOptions newer = options("new");
  newer.on_wait = [&](std::string_view text) {
    said += std::string(text) + "\n";
    std::ofstream(top_ / "go") << "go";
  };
  const auto client = Client::connect(newer);
  asker.join();
  ASSERT_TRUE(client) << client.error().text();
  EXPECT_EQ(client->server().build, "new");
  EXPECT_EQ(said, "waiting for the daemon of another build to leave\nstarting the daemon\n");
  EXPECT_EQ(starts().size(), 2U);
  EXPECT_TRUE(answer) << "what ran was finished: " << answer.error().text();
}

TEST_F(StartTest, OneThatMayNotStartKeepsAnotherBuild) {
  const auto old = Client::connect(options("old"));
  ASSERT_TRUE(old) << old.error().text();
  ClientOptions reach = options("new");
  reach.start_daemon = false;
  const auto client = Client::connect(reach);
  ASSERT_TRUE(client) << client.error().text();
  EXPECT_EQ(client->server().build, "old");
}

TEST_F(StartTest, AfterShutdownTheNextCommandStartsAnew) {
  auto first = Client::connect(options("a"));
  ASSERT_TRUE(first) << first.error().text();
  ASSERT_TRUE(first->call<protocol::Nothing>("shutdown", protocol::ShutdownParams{}));
  const auto second = Client::connect(options("a"));
  ASSERT_TRUE(second) << second.error().text();
  EXPECT_NE(second->server().pid, first->server().pid);
}

TEST_F(StartTest, AFailedStartTellsTheDaemonsOwnReason) {
  const auto client = Client::connect(options("a", {"--fail=the disk is full"}));
  ASSERT_FALSE(client);
  EXPECT_EQ(client.error().code, ErrorCode::kIo);
  EXPECT_EQ(client.error().message, "the daemon could not start: the disk is full");
  EXPECT_EQ(client.error().remedy, "try again\nlog: /the/log");
}

TEST_F(StartTest, ACrashAtTheStartIsTold) {
  const auto client = Client::connect(options("a", {"--crash"}));
  ASSERT_FALSE(client);
  EXPECT_NE(client.error().message.find("signal 9"), std::string::npos) << client.error().message;
}

TEST_F(StartTest, ADaemonThatEndsAgainAndAgainIsGivenUp) {
  const auto client = Client::connect(options("a", {"--crash-on-handshake"}));
  ASSERT_FALSE(client);
  EXPECT_NE(client.error().message.find("again and again"), std::string::npos) << client.error().message;
}

TEST_F(StartTest, AProgramThatIsMissingOrNoneIsNamed) {
  ClientOptions start = options("a");
  start.daemon = top_ / "absent";
  EXPECT_NE(Client::connect(start).error().message.find("absent"), std::string::npos);
  std::ofstream(top_ / "text") << "no program";
  ASSERT_EQ(::chmod((top_ / "text").c_str(), 0755), 0);
  start.daemon = top_ / "text";
  EXPECT_NE(Client::connect(start).error().message.find("cannot run"), std::string::npos);
  start.daemon = "/bin/false";
  EXPECT_EQ(Client::connect(start).error().message, "the daemon could not start: exit status 1");
}

TEST_F(StartTest, LoadersLastWordsAreKept) {
  std::ofstream(top_ / "script") << "#!/bin/sh\necho 'libtorch.so: cannot open' >&2\nexit 127\n";
  ASSERT_EQ(::chmod((top_ / "script").c_str(), 0755), 0);
  ClientOptions start = options("a");
  start.daemon = top_ / "script";
  EXPECT_EQ(Client::connect(start).error().message, "the daemon could not start: libtorch.so: cannot open");
}

TEST_F(StartTest, StopEndsAStartThatHangs) {
  std::ofstream(top_ / "script") << "#!/bin/sh\nexec sleep 60\n";
  ASSERT_EQ(::chmod((top_ / "script").c_str(), 0755), 0);
  std::stop_source stop;
  ClientOptions start = options("a");
  start.daemon = top_ / "script";
  start.stop = stop.get_token();
  start.on_wait = [&](std::string_view) { stop.request_stop(); };
  EXPECT_EQ(Client::connect(start).error().code, ErrorCode::kCancelled);
}

TEST_F(StartTest, ASocketPlantedByAnotherUserIsRefused) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to become another user";
  ASSERT_EQ(::chmod(top_.c_str(), 01777), 0);
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    if (::setuid(12345) != 0) ::_exit(1);
    const auto listener = listen_unix(top_ / "d.sock");
    if (::write(ready[1], listener ? "y" : "n", 1) != 1) ::_exit(1);
    ::pause();
  }
  char answer = 'n';
  ASSERT_EQ(::read(ready[0], &answer, 1), 1);
  ASSERT_EQ(answer, 'y');
  const auto client = Client::connect(options("a"));
  ASSERT_FALSE(client);
  EXPECT_NE(client.error().message.find("12345"), std::string::npos) << client.error().message;
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  const auto stale = Client::connect(options("a"));
  ASSERT_FALSE(stale) << "nor is its dead socket removed";
  EXPECT_NE(stale.error().message.find("belongs to user 12345"), std::string::npos) << stale.error().message;
  fs::remove(top_ / "d.sock");
  ::close(ready[0]);
  ::close(ready[1]);
}

TEST_F(StartTest, FindsTheDaemonBesideInLibexecAndInPath) {
  const auto put = [&](const std::string& dir) {
    fs::create_directories(top_ / dir);
    std::ofstream(top_ / dir / "kvboostd") << "#!/bin/sh\n";
    ::chmod((top_ / dir / "kvboostd").c_str(), 0755);
    return top_ / dir / "kvboostd";
  };
  const fs::path here = top_ / "usr/bin";
  fs::create_directories(here);
  const std::string before = std::getenv("PATH");
  ::setenv("PATH", ("relative::" + (top_ / "other").string()).c_str(), 1);
  const auto nowhere = find_daemon(here);
  EXPECT_EQ(nowhere.error().code, ErrorCode::kNotFound);
  EXPECT_NE(nowhere.error().message.find(here.string()), std::string::npos);
  const auto in_path = put("other");
  EXPECT_EQ(find_daemon(here).value(), in_path);
  const auto in_libexec = put("usr/libexec/kvboost");
  EXPECT_EQ(find_daemon(here).value(), in_libexec);
  const auto beside = put("usr/bin");
  EXPECT_EQ(find_daemon(here).value(), beside);
  ::chmod(beside.c_str(), 0644);
  EXPECT_EQ(find_daemon(here).value(), in_libexec) << "what cannot be run is passed over";
  ::setenv("PATH", before.c_str(), 1);
}

}  // namespace
}  // namespace kvboost::cli
