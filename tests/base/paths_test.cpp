// SPDX-License-Identifier: Apache-2.0
// The user's directories: real environment, real directories in a private one.
#include "base/paths.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include "tests/support/scratch_tree.h"

namespace kvboost {
namespace {

namespace fs = std::filesystem;

class PathsTest : public testing::Test {
 protected:
  void SetUp() override { ::umask(022); }
  void TearDown() override { ::umask(022); }
  static mode_t mode_of(const fs::path& path) {
    struct stat status {};
    EXPECT_EQ(::stat(path.c_str(), &status), 0) << path;
    return status.st_mode & 07777;
  }

  const test::ScratchTree scratch_;
  const fs::path top_ = scratch_.root();
};

TEST_F(PathsTest, XdgVariablesWin) {
  ::setenv("XDG_CONFIG_HOME", "/x/config", 1);
  ::setenv("XDG_CACHE_HOME", "/x/cache", 1);
  ::setenv("XDG_DATA_HOME", "/x/data", 1);
  ::setenv("XDG_STATE_HOME", "/x/state", 1);
  EXPECT_EQ(config_dir().value(), "/x/config/kvboost");
  EXPECT_EQ(cache_dir().value(), "/x/cache/kvboost");
  EXPECT_EQ(data_dir().value(), "/x/data/kvboost");
  EXPECT_EQ(state_dir().value(), "/x/state/kvboost");
}

TEST_F(PathsTest, RelativeAndEmptyVariablesAreIgnored) {
  ::setenv("HOME", "/home/somebody", 1);
  ::setenv("XDG_CONFIG_HOME", "relative", 1);
  ::setenv("XDG_CACHE_HOME", "", 1);
  ::setenv("XDG_RUNTIME_DIR", "relative", 1);
  EXPECT_EQ(config_dir().value(), "/home/somebody/.config/kvboost");
  EXPECT_EQ(cache_dir().value(), "/home/somebody/.cache/kvboost");
  EXPECT_EQ(runtime_dir().value(), "/tmp/kvboost-" + std::to_string(::geteuid()));
}

TEST_F(PathsTest, WithoutHomeThePasswordFileIsAsked) {
  ::unsetenv("HOME");
  ::unsetenv("XDG_STATE_HOME");
  const auto dir = state_dir();
  if (dir) {
    EXPECT_TRUE(dir->is_absolute());
    EXPECT_EQ(dir->filename(), "kvboost");
  } else {
    EXPECT_EQ(dir.error().code, ErrorCode::kNotFound);
    EXPECT_NE(dir.error().remedy.find("XDG_STATE_HOME"), std::string::npos);
  }
}

TEST_F(PathsTest, RuntimeDirectoryOfAnotherUserIsNotUsed) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to give a directory away";
  fs::create_directory(top_ / "run");
  ASSERT_EQ(::chown((top_ / "run").c_str(), 12345, 12345), 0);
  ::setenv("XDG_RUNTIME_DIR", (top_ / "run").c_str(), 1);
  EXPECT_EQ(runtime_dir().value(), "/tmp/kvboost-0");
}

TEST_F(PathsTest, RuntimeDirectoryThatItsOwnerMayNotUseIsNamed) {
  fs::create_directory(top_ / "run");
  ::chmod((top_ / "run").c_str(), 0);
  ::setenv("XDG_RUNTIME_DIR", (top_ / "run").c_str(), 1);
  const auto dir = runtime_dir();
  ASSERT_FALSE(dir);
  EXPECT_NE(dir.error().message.find("0000"), std::string::npos) << dir.error().message;
  EXPECT_NE(dir.error().remedy.find("chmod 700"), std::string::npos);
}

TEST_F(PathsTest, MakesAllLevelsPrivateWhateverTheUmask) {
  for (const mode_t mask : {mode_t{0}, mode_t{022}}) {
    ::umask(mask);
    const fs::path dir = top_ / std::to_string(mask) / "b" / "c";
    ASSERT_TRUE(ensure_private_dir(dir));
    EXPECT_EQ(mode_of(dir), 0700);
    EXPECT_EQ(mode_of(dir.parent_path()), 0700);
    EXPECT_TRUE(ensure_private_dir(dir)) << "the second time too";
  }
  ::umask(0777);
  const auto made = ensure_private_dir(top_ / "odd");
  ASSERT_TRUE(made) << made.error().text();
  EXPECT_EQ(mode_of(top_ / "odd"), 0700);
}

TEST_F(PathsTest, TooOpenDirectoryOfOursIsClosed) {
  fs::create_directory(top_ / "open");
  ::chmod((top_ / "open").c_str(), 0777);
  ASSERT_TRUE(ensure_private_dir(top_ / "open"));
  EXPECT_EQ(mode_of(top_ / "open"), 0700);
}

TEST_F(PathsTest, SymbolicLinkIsRefused) {
  fs::create_directory(top_ / "real");
  ::chmod((top_ / "real").c_str(), 0700);
  fs::create_symlink(top_ / "real", top_ / "link");
  const auto result = ensure_private_dir(top_ / "link");
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::kInvalidArgument);
  EXPECT_NE(result.error().message.find("symbolic link"), std::string::npos);
}

TEST_F(PathsTest, FileInTheWayIsRefused) {
  std::ofstream(top_ / "file") << "x";
  EXPECT_FALSE(ensure_private_dir(top_ / "file"));
  EXPECT_FALSE(ensure_private_dir(top_ / "file" / "below"));
}

TEST_F(PathsTest, ForeignOwnerIsRefused) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to give a directory away";
  fs::create_directory(top_ / "theirs");
  ASSERT_EQ(::chown((top_ / "theirs").c_str(), 12345, 12345), 0);
  const auto result = ensure_private_dir(top_ / "theirs");
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().message.find("12345"), std::string::npos);
}

TEST_F(PathsTest, DirectoryThatItsOwnerMayNotUseIsNamed) {
  fs::create_directory(top_ / "shut");
  ::chmod((top_ / "shut").c_str(), 0);
  const auto result = ensure_private_dir(top_ / "shut");
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().message.find("0000"), std::string::npos) << result.error().message;
  EXPECT_EQ(mode_of(top_ / "shut"), 0);
}

}  // namespace
}  // namespace kvboost
