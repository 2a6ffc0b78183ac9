// SPDX-License-Identifier: Apache-2.0
// Sockets by path, and the directory that they stand in.
#include "base/unix_socket.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/daemon_files.h"
#include "tests/support/scratch_tree.h"

namespace kvboost {
namespace {

namespace fs = std::filesystem;

class UnixSocketTest : public testing::Test {
 protected:
  void TearDown() override { ::umask(022); }

  const test::ScratchTree scratch_;
  const fs::path top_ = scratch_.root();
};

TEST_F(UnixSocketTest, ConnectsAtEveryLengthOfPath) {
  fs::path dir = top_;
  for (int level = 0; level < 6; ++level) {
    const fs::path socket = dir / "kvboostd.sock";
    const auto listener = listen_unix(socket);
    ASSERT_TRUE(listener) << socket << listener.error().message;
    const auto client = connect_unix(socket);
    ASSERT_TRUE(client) << socket << client.error().message;
    EXPECT_EQ(peer_uid(client->get()).value(), ::geteuid());
    dir /= std::string(60, static_cast<char>('a' + level));
    fs::create_directory(dir);
  }
  EXPECT_GT(dir.string().size(), 300U);
}

TEST_F(UnixSocketTest, ANameThatIsTooLongIsNamed) {
  const auto listener = listen_unix(top_ / std::string(120, 'x'));
  ASSERT_FALSE(listener);
  EXPECT_NE(listener.error().message.find("too long"), std::string::npos);
}

TEST_F(UnixSocketTest, TheSocketIsOursAloneWhateverTheUmask) {
  ::umask(0);
  const auto listener = listen_unix(top_ / "s");
  ASSERT_TRUE(listener);
  struct stat status {};
  ASSERT_EQ(::stat((top_ / "s").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0600U);
}

TEST_F(UnixSocketTest, AbsentAndStaleSocketsAreNotFound) {
  EXPECT_EQ(connect_unix(top_ / "none").error().code, ErrorCode::kNotFound);
  EXPECT_EQ(connect_unix(top_ / "none" / "below").error().code, ErrorCode::kNotFound);
  { const auto listener = listen_unix(top_ / "stale"); }
  ASSERT_TRUE(fs::exists(top_ / "stale"));
  EXPECT_EQ(connect_unix(top_ / "stale").error().code, ErrorCode::kNotFound);
}

TEST_F(UnixSocketTest, ATakenPathIsBusy) {
  const auto first = listen_unix(top_ / "s");
  EXPECT_EQ(listen_unix(top_ / "s").error().code, ErrorCode::kBusy);
}

TEST_F(UnixSocketTest, AListenerOfAnotherUserIsRefused) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to become another user";
  ASSERT_EQ(::chmod(top_.c_str(), 0777), 0);
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    if (::setuid(12345) != 0) ::_exit(1);
    const auto listener = listen_unix(top_ / "s");
    ::write(ready[1], listener ? "y" : "n", 1);
    ::pause();
  }
  char answer = 'n';
  ASSERT_EQ(::read(ready[0], &answer, 1), 1);
  ASSERT_EQ(answer, 'y');
  const auto client = connect_unix(top_ / "s");
  ASSERT_FALSE(client);
  EXPECT_EQ(client.error().code, ErrorCode::kInvalidArgument);
  EXPECT_NE(client.error().message.find("12345"), std::string::npos);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  ::close(ready[0]);
  ::close(ready[1]);
}

TEST_F(UnixSocketTest, FilesOfTheDaemon) {
  ::setenv("XDG_RUNTIME_DIR", top_.c_str(), 1);
  const auto files = daemon_files("");
  ASSERT_TRUE(files) << files.error().message;
  EXPECT_EQ(files->socket, top_ / "kvboost/kvboostd.sock");
  EXPECT_EQ(files->lock, top_ / "kvboost/kvboostd.lock");
  EXPECT_EQ(files->start_lock, top_ / "kvboost/kvboostd.start");
  EXPECT_EQ(daemon_files(top_ / "other").value().lock, top_ / "other.lock");
}

TEST_F(UnixSocketTest, ChosenDirectoriesThatOthersCanChangeAreRefused) {
  EXPECT_FALSE(daemon_files("relative.sock"));
  EXPECT_FALSE(daemon_files(top_ / "absent" / "s.sock"));
  ASSERT_EQ(::chmod(top_.c_str(), 0777), 0);
  const auto open_dir = daemon_files(top_ / "s.sock");
  ASSERT_FALSE(open_dir);
  EXPECT_NE(open_dir.error().remedy.find("chmod go-w"), std::string::npos);
  ASSERT_EQ(::chmod(top_.c_str(), 01777), 0);
  EXPECT_TRUE(daemon_files(top_ / "s.sock"));
  if (::geteuid() == 0) {
    ASSERT_EQ(::chmod(top_.c_str(), 0700), 0);
    ASSERT_EQ(::chown(top_.c_str(), 12345, 12345), 0);
    EXPECT_FALSE(daemon_files(top_ / "s.sock"));
  }
}

}  // namespace
}  // namespace kvboost
