// SPDX-License-Identifier: Apache-2.0
#include "cache/track/history.h"

#include <gtest/gtest.h>

#include <fstream>

#include "tests/support/scratch_tree.h"

namespace kvboost::cache {
namespace {

std::string content(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

class History : public testing::Test {
 protected:
  void SetUp() override {
    tree_.git({"init", "-q"});
    tree_.write("a.c", "one");
    tree_.write("dir/b.c", "one");
    tree_.commit("first");
    tree_.write("a.c", "two");
    tree_.write("new.c", "new");
    tree_.commit("second");
    tree_.write("dir/b.c", std::string("t\0wo", 4));
    tree_.commit("third");
  }

  std::vector<CommitChange> walk(std::size_t most = 100) const {
    std::vector<CommitChange> changes;
    const auto walked = walk_history(tree_.root(), [&](const CommitChange& change) {
      changes.push_back(change);
      return changes.size() < most;
    });
    EXPECT_TRUE(walked.has_value()) << walked.error().text();
    return changes;
  }

  const test::ScratchTree tree_;
};

TEST_F(History, TellsWhatEachCommitChanged) {
  const auto changes = walk();
  ASSERT_EQ(changes.size(), 2U) << "the first commit has no parent";
  EXPECT_EQ(changes[0].message, "third\n");
  EXPECT_EQ(changes[0].modified, std::vector<std::string>{"dir/b.c"});
  EXPECT_EQ(changes[1].modified, std::vector<std::string>{"a.c"});
  EXPECT_EQ(changes[1].others, 1U);
  EXPECT_EQ(changes[0].parent, changes[1].id);
  EXPECT_EQ(walk(1).size(), 1U);
}

TEST_F(History, WritesTheFilesOfARevision) {
  const test::ScratchTree to;
  ASSERT_TRUE(write_tree(tree_.root(), "HEAD", to.root()).has_value());
  EXPECT_EQ(content(to / "dir/b.c"), std::string("t\0wo", 4));
  EXPECT_EQ(content(to / "new.c"), "new");
  const test::ScratchTree before;
  ASSERT_TRUE(write_tree(tree_.root(), "HEAD~2", before.root()).has_value());
  EXPECT_EQ(content(before / "a.c"), "one");
  EXPECT_FALSE(std::filesystem::exists(before / "new.c"));
  EXPECT_FALSE(std::filesystem::exists(before / ".git"));
}

TEST_F(History, SaysWhatIsNotThere) {
  const test::ScratchTree to;
  EXPECT_EQ(write_tree(tree_.root(), "nonsense", to.root()).error().code, ErrorCode::kInvalidArgument);
  EXPECT_FALSE(walk_history(to.root(), [](const CommitChange&) { return true; }).has_value());
  to.git({"init", "-q"});
  EXPECT_FALSE(walk_history(to.root(), [](const CommitChange&) { return true; }).has_value()) << "no commit";
}

}  // namespace
}  // namespace kvboost::cache
