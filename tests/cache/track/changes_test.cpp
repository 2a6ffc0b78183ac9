// SPDX-License-Identifier: Apache-2.0
// What differs from a commit, against what git itself made of the repository.
#include "cache/track/changes.h"

#include <gtest/gtest.h>

#include "tests/cache/track/listings.h"
#include "tests/support/scratch_tree.h"

namespace kvboost::cache {
namespace {

class Changes : public testing::Test {
 protected:
  void SetUp() override {
    tree_.git({"init", "-q"});
    tree_.write(".gitignore", "*.o\n");
    tree_.write("same.c", "same");
    tree_.write("edited.c", "old");
    tree_.write("staged.c", "old");
    tree_.write("gone.c", "old");
    tree_.write("folder/kept.c", "old");
    tree_.commit("one");
  }

  void edit() const {
    tree_.write("edited.c", "new");
    tree_.write("staged.c", "new");
    tree_.git({"add", "staged.c"});
    std::filesystem::remove(tree_ / "gone.c");
    tree_.write("folder/untracked.c", "new");
    tree_.write("untracked/deep/a.c", "new");
    tree_.write("untracked/deep/a.o", "new");
    tree_.write("odd \xff\n.c", "new");
  }

  static Paths of(const Result<std::vector<std::string>>& changed) {
    return changed ? *changed : Paths{changed.error().text()};
  }

  const test::ScratchTree tree_;
  const Paths edited_ = {"edited.c", "folder/untracked.c", "odd \xff\n.c", "staged.c", "untracked/deep/a.c"};
};

TEST_F(Changes, NothingInACleanTree) {
  EXPECT_EQ(of(changed_since_head(tree_.root(), {})), Paths());
  EXPECT_EQ(of(changed_since(tree_.root(), "HEAD", {})), Paths());
}

TEST_F(Changes, AgainstHead) {
  edit();
  EXPECT_EQ(of(changed_since_head(tree_.root(), {})), edited_);
}

TEST_F(Changes, AgainstAnEarlierRevision) {
  tree_.git({"tag", "first"});
  tree_.write("same.c", "no more");
  tree_.write("added.c", "new");
  tree_.commit("two");
  EXPECT_EQ(of(changed_since(tree_.root(), "HEAD~1", {})), (Paths{"added.c", "same.c"}));
  EXPECT_EQ(of(changed_since(tree_.root(), "first", {})), (Paths{"added.c", "same.c"}));
  EXPECT_EQ(of(changed_since_head(tree_.root(), {})), Paths());
}

TEST_F(Changes, AConflictIsAChange) {
  tree_.git({"checkout", "-q", "-b", "other"});
  tree_.write("edited.c", "theirs");
  tree_.commit("theirs");
  tree_.git({"checkout", "-q", "main"});
  tree_.write("edited.c", "ours");
  tree_.commit("ours");
  tree_.git({"-c", "alias.try=!git merge -q other || true", "try"});
  EXPECT_EQ(of(changed_since_head(tree_.root(), {})), Paths{"edited.c"});
}

TEST_F(Changes, EverythingBeforeTheFirstCommit) {
  const test::ScratchTree fresh;
  fresh.git({"init", "-q"});
  fresh.write("a.c", "a");
  fresh.write("b.c", "b");
  fresh.git({"add", "a.c"});
  EXPECT_EQ(of(changed_since_head(fresh.root(), {})), (Paths{"a.c", "b.c"}));
  const auto none = changed_since(fresh.root(), "HEAD", {});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().message, "there is no revision 'HEAD' in this repository");
}

TEST_F(Changes, ASubmoduleThatDiffersIsAFolder) {
  const test::ScratchTree super;
  super.git({"init", "-q"});
  super.git(
      {"-c", "protocol.file.allow=always", "submodule", "--quiet", "add", tree_.root().string(), "libs/sub"});
  super.commit("one");
  EXPECT_EQ(of(changed_since_head(super.root(), {})), Paths());
  super.write("libs/sub/edited.c", "new");
  EXPECT_EQ(of(changed_since_head(super.root(), {})), Paths{"libs/sub/"});
}

TEST_F(Changes, LinkedWorktree) {
  tree_.git({"worktree", "add", "-q", "../" + tree_.root().filename().string() + "-linked", "-b", "linked"});
  const std::filesystem::path linked = tree_.root().string() + "-linked";
  std::filesystem::remove(linked / "same.c");
  std::filesystem::copy_file(tree_ / "edited.c", linked / "new.c");
  EXPECT_EQ(of(changed_since_head(linked, {})), Paths{"new.c"});
  std::filesystem::remove_all(linked);
}

TEST_F(Changes, ABadRevisionIsNamed) {
  for (const char* revision : {"nonsense", "HEAD~99", "", "-x", "HEAD^{nonsense}", "..", "@{-1"}) {
    const auto refused = changed_since(tree_.root(), revision, {});
    ASSERT_FALSE(refused) << revision;
    EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument) << revision;
    EXPECT_NE(refused.error().message.find("'" + std::string(revision) + "'"), std::string::npos);
    EXPECT_NE(refused.error().remedy, "");
  }
  const auto blob = changed_since(tree_.root(), "HEAD:same.c", {});
  ASSERT_FALSE(blob);
  EXPECT_EQ(blob.error().message, "'HEAD:same.c' is a file, not a commit");
}

TEST_F(Changes, NoRepository) {
  const test::ScratchTree plain;
  plain.write("a.c", "a");
  const auto refused = changed_since_head(plain.root(), {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument);
  EXPECT_NE(refused.error().message.find("no git repository"), std::string::npos);
}

TEST_F(Changes, ARepositoryThatLibgit2Refuses) {
  const test::ScratchTree other;
  other.git({"init", "-q", "--object-format=sha256"});
  const auto refused = changed_since_head(other.root(), {});
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("sha256"), std::string::npos) << refused.error().message;
}

TEST_F(Changes, StopsWhenToldTo) {
  edit();
  std::stop_source source;
  source.request_stop();
  const auto stopped = changed_since_head(tree_.root(), source.get_token());
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().code, ErrorCode::kCancelled);
}

TEST_F(Changes, TheIndexIsLeftAlone) {
  edit();
  const auto before = std::filesystem::last_write_time(tree_ / ".git/index");
  ASSERT_EQ(of(changed_since_head(tree_.root(), {})), edited_);
  EXPECT_EQ(std::filesystem::last_write_time(tree_ / ".git/index"), before);
}

}  // namespace
}  // namespace kvboost::cache
