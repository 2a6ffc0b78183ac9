// SPDX-License-Identifier: Apache-2.0
// Who holds the lock: real files, real processes.
#include "base/lock_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <fstream>
#include <thread>
#include <vector>

#include "tests/support/scratch_tree.h"

namespace kvboost {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

class LockFileTest : public testing::Test {
 protected:
  const test::ScratchTree scratch_;
  const fs::path top_ = scratch_.root();
  const fs::path file_ = top_ / "daemon.lock";
};

TEST_F(LockFileTest, OneHolderAtATime) {
  {
    const auto lock = LockFile::acquire(file_, "pid 7 build x");
    ASSERT_TRUE(lock) << lock.error().message;
    const auto second = LockFile::acquire(file_, "other");
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, ErrorCode::kBusy);
    EXPECT_NE(second.error().message.find("pid 7 build x"), std::string::npos);
    EXPECT_EQ(LockFile::holder(file_).value(), "pid 7 build x");
    struct stat status {};
    ASSERT_EQ(::stat(file_.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777, 0600U);
  }
  EXPECT_EQ(LockFile::holder(file_).value(), std::nullopt);
  EXPECT_TRUE(LockFile::acquire(file_, "other"));
}

TEST_F(LockFileTest, NobodyHoldsAFileThatIsNotThere) {
  EXPECT_EQ(LockFile::holder(file_).value(), std::nullopt);
  EXPECT_FALSE(fs::exists(file_));
}

TEST_F(LockFileTest, AskingDoesNotDisturbWhoTakesIt) {
  std::atomic<bool> end = false;
  std::thread asker([&] {
    while (!end) (void)LockFile::holder(file_);
  });
  for (int round = 0; round < 500; ++round) {
    const auto lock = LockFile::acquire(file_, "me");
    EXPECT_TRUE(lock) << lock.error().message;
  }
  end = true;
  asker.join();
}

TEST_F(LockFileTest, OfManyThreadsOneGetsIt) {
  std::atomic<int> inside = 0;
  std::atomic<int> most = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      const auto lock = LockFile::acquire_within(file_, "thread", milliseconds(60'000), {});
      ASSERT_TRUE(lock) << lock.error().message;
      most = std::max(most.load(), ++inside);
      std::this_thread::sleep_for(milliseconds(2));
      --inside;
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(most, 1);
}

TEST_F(LockFileTest, AKilledHolderFreesIt) {
  const pid_t child = ::fork();
  if (child == 0) {
    const auto lock = LockFile::acquire(file_, "child");
    ::pause();
    ::_exit(lock ? 0 : 1);
  }
  while (LockFile::holder(file_).value() != "child") std::this_thread::sleep_for(milliseconds(1));
  EXPECT_FALSE(LockFile::wait_until_free(file_, milliseconds(0), {}));
  ::kill(child, SIGKILL);
  EXPECT_TRUE(LockFile::wait_until_free(file_, milliseconds(60'000), {}));
  ::waitpid(child, nullptr, 0);
}

TEST_F(LockFileTest, WaitingEndsOnStop) {
  const auto lock = LockFile::acquire(file_, "me");
  std::stop_source stop;
  stop.request_stop();
  const auto second = LockFile::acquire_within(file_, "x", milliseconds(60'000), stop.get_token());
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::kCancelled);
}

TEST_F(LockFileTest, PlantedFilesAreRefused) {
  std::ofstream(top_ / "victim") << "precious";
  fs::create_symlink(top_ / "victim", file_);
  auto lock = LockFile::acquire(file_, "x");
  ASSERT_FALSE(lock);
  EXPECT_NE(lock.error().message.find("symbolic link"), std::string::npos);
  fs::remove(file_);
  fs::create_hard_link(top_ / "victim", file_);
  lock = LockFile::acquire(file_, "x");
  ASSERT_FALSE(lock);
  EXPECT_NE(lock.error().message.find("hard link"), std::string::npos);
  fs::remove(file_);
  ASSERT_EQ(::mkfifo(file_.c_str(), 0600), 0);
  EXPECT_FALSE(LockFile::acquire(file_, "x"));
  fs::remove(file_);
  std::string text;
  std::getline(std::ifstream(top_ / "victim"), text);
  EXPECT_EQ(text, "precious");
}

TEST_F(LockFileTest, AnotherUsersFileIsRefused) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to give a file away";
  std::ofstream(file_) << "theirs";
  ASSERT_EQ(::chown(file_.c_str(), 12345, 12345), 0);
  const auto lock = LockFile::acquire(file_, "x");
  ASSERT_FALSE(lock);
  EXPECT_NE(lock.error().message.find("12345"), std::string::npos);
}

}  // namespace
}  // namespace kvboost
