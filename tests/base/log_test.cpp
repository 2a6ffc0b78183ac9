// SPDX-License-Identifier: Apache-2.0
// The log file: ours alone, and nobody else's file by way of a link.
#include "base/log.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <string>

#include "tests/support/scratch_tree.h"

namespace kvboost {
namespace {

namespace fs = std::filesystem;

class LogTest : public testing::Test {
 protected:
  void TearDown() override {
    ::umask(022);
    EXPECT_TRUE(log::to_stderr("info"));
  }
  static std::string content(const fs::path& file) {
    std::ifstream stream(file);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  static mode_t mode_of(const fs::path& file) {
    struct stat status {};
    EXPECT_EQ(::stat(file.c_str(), &status), 0);
    return status.st_mode & 07777;
  }

  const test::ScratchTree scratch_;
  const fs::path top_ = scratch_.root();
  const fs::path file_ = top_ / "kvboostd.log";
};

TEST_F(LogTest, IsOursAloneAndGrows) {
  ::umask(0);
  ASSERT_TRUE(log::to_file(file_, "info"));
  log::info("one {}", 1);
  log::debug("not told");
  ASSERT_TRUE(log::to_file(file_, "debug"));
  log::debug("two");
  EXPECT_EQ(mode_of(file_), 0600U);
  const std::string text = content(file_);
  EXPECT_NE(text.find("one 1"), std::string::npos);
  EXPECT_EQ(text.find("not told"), std::string::npos);
  EXPECT_NE(text.find("two"), std::string::npos);
}

TEST_F(LogTest, AFileThatIsOpenToOthersIsClosed) {
  std::ofstream(file_) << "old\n";
  ::chmod(file_.c_str(), 0666);
  ASSERT_TRUE(log::to_file(file_, "info"));
  EXPECT_EQ(mode_of(file_), 0600U);
  EXPECT_TRUE(content(file_).starts_with("old\n"));
}

TEST_F(LogTest, LinksAndSpecialFilesAreRefused) {
  std::ofstream(top_ / "victim") << "precious";
  fs::create_symlink(top_ / "victim", file_);
  auto opened = log::to_file(file_, "info");
  ASSERT_FALSE(opened);
  EXPECT_NE(opened.error().message.find("symbolic link"), std::string::npos);
  fs::remove(file_);
  fs::create_hard_link(top_ / "victim", file_);
  EXPECT_FALSE(log::to_file(file_, "info"));
  fs::remove(file_);
  ASSERT_EQ(::mkfifo(file_.c_str(), 0600), 0);
  EXPECT_FALSE(log::to_file(file_, "info")) << "and does not wait for a reader";
  fs::remove(file_);
  fs::create_directory(file_);
  EXPECT_FALSE(log::to_file(file_, "info"));
  EXPECT_EQ(content(top_ / "victim"), "precious");
}

TEST_F(LogTest, ADiskThatTakesNothingIsAnError) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = ::signal(SIGXFSZ, SIG_IGN);
  const rlimit none{0, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &none), 0);
  const auto opened = log::to_file(file_, "error");
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  ::signal(SIGXFSZ, handler);
  ASSERT_FALSE(opened);
  EXPECT_NE(opened.error().message.find(file_.string()), std::string::npos);
}

TEST_F(LogTest, AnUnknownLevelIsNamed) {
  EXPECT_EQ(log::to_file(file_, "loud").error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(log::to_stderr("loud").error().code, ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace kvboost
