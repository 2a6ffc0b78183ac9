// SPDX-License-Identifier: Apache-2.0
// Repositories that are not a plain clone: each works, or is listed without git, with one line naming the
// cause.
#include <gtest/gtest.h>
#include <unistd.h>

#include "cache/track/work_tree.h"
#include "tests/cache/track/listings.h"
#include "tests/support/scratch_tree.h"

namespace kvboost::cache {
namespace {

std::string trimmed(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

// A repository with two commits in the folder "origin".
void make_origin(const test::ScratchTree& tree) {
  std::filesystem::create_directories(tree / "origin");
  tree.git({"init", "-q"}, "origin");
  tree.write("origin/a.txt", "a");
  tree.write("origin/dir/b.txt", "b");
  tree.write("origin/other/c.txt", "c");
  for (const char* message : {"one", "two"}) {
    tree.write("origin/message", message);
    tree.git({"add", "--all"}, "origin");
    tree.git({"commit", "-q", "-m", message}, "origin");
  }
}

const Paths kOriginFiles = {"a.txt", "dir/b.txt", "message", "other/c.txt"};

TEST(OddRepositories, NoneAtAll) {
  const test::ScratchTree tree;
  tree.write("src/a.c", "x");
  tree.write(".gitignore", "*.o\n");
  tree.write("src/a.o", "x");
  tree.write(".svn/entries", "x");
  const auto work_tree = WorkTree::discover(tree / "src/a.c");
  ASSERT_TRUE(work_tree.has_value());
  EXPECT_FALSE(work_tree->is_repository());
  EXPECT_EQ(work_tree->root(), tree / "src");
  const FileListing listing = list(tree.root());
  EXPECT_EQ(paths(listing), (Paths{".gitignore", "src/a.c"}));
  EXPECT_EQ(listing.note.substr(0, 17), "no git repository");
  EXPECT_EQ(listing.head + listing.branch, "");
}

TEST(OddRepositories, MadeAfterTheFirstListing) {
  const test::ScratchTree tree;
  tree.write("a.c", "x");
  const auto work_tree = WorkTree::discover(tree.root());
  EXPECT_NE(work_tree->list(1000)->note, "");
  tree.git({"init", "-q"});
  EXPECT_EQ(work_tree->list(1000)->note, "");
  EXPECT_EQ(work_tree->list(1000)->branch, "main");
}

TEST(OddRepositories, BeforeTheFirstCommit) {
  const test::ScratchTree tree;
  tree.git({"init", "-q"});
  tree.write("a.c", "x");
  const FileListing listing = list(tree.root());
  EXPECT_EQ(paths(listing), Paths{"a.c"});
  EXPECT_EQ(listing.head, "");
  EXPECT_EQ(listing.branch, "main");
  EXPECT_EQ(listing.note, "");
}

TEST(OddRepositories, FollowsHeadAndBranch) {
  const test::ScratchTree tree;
  make_origin(tree);
  tree.git({"checkout", "-q", "-b", "topic/x"}, "origin");
  FileListing listing = list(tree / "origin");
  EXPECT_EQ(listing.branch, "topic/x");
  EXPECT_EQ(listing.head, trimmed(tree.git({"rev-parse", "HEAD"}, "origin")));
  tree.git({"checkout", "-q", "--detach", "HEAD~1"}, "origin");
  listing = list(tree / "origin");
  EXPECT_EQ(listing.branch, "");
  EXPECT_EQ(listing.head, trimmed(tree.git({"rev-parse", "HEAD"}, "origin")));
  EXPECT_EQ(paths(listing), kOriginFiles);
}

TEST(OddRepositories, InTheMiddleOfARebaseWithConflicts) {
  const test::ScratchTree tree;
  make_origin(tree);
  tree.git({"checkout", "-q", "-b", "topic", "HEAD~1"}, "origin");
  tree.write("origin/message", "topic");
  tree.write("origin/.gitignore", "message\n");
  tree.git({"add", "--all", "--force"}, "origin");
  tree.git({"commit", "-q", "-m", "topic"}, "origin");
  tree.git({"-c", "alias.try=!git rebase -q main || true", "try"}, "origin");
  const FileListing listing = list(tree / "origin");
  EXPECT_EQ(paths(listing), (Paths{".gitignore", "a.txt", "dir/b.txt", "message", "other/c.txt"}));
  EXPECT_EQ(listing.head, trimmed(tree.git({"rev-parse", "HEAD"}, "origin")));
}

TEST(OddRepositories, Bare) {
  const test::ScratchTree tree;
  make_origin(tree);
  tree.git({"clone", "-q", "--bare", "origin", "bare"});
  const auto found = WorkTree::discover(tree / "bare");
  ASSERT_FALSE(found.has_value());
  EXPECT_EQ(found.error().code, ErrorCode::kInvalidArgument);
  EXPECT_NE(found.error().message.find("bare"), std::string::npos);
}

TEST(OddRepositories, LinkedWorktree) {
  const test::ScratchTree tree;
  make_origin(tree);
  tree.git({"worktree", "add", "-q", "-b", "side", "../linked"}, "origin");
  tree.write("linked/new.txt", "x");
  const FileListing listing = list(tree / "linked/dir");
  EXPECT_EQ(paths(listing), (Paths{"a.txt", "dir/b.txt", "message", "new.txt", "other/c.txt"}));
  EXPECT_EQ(listing.branch, "side");
  EXPECT_EQ(listing.note, "");
  EXPECT_EQ(WorkTree::discover(tree / "linked/dir")->root(), tree / "linked");
}

TEST(OddRepositories, WorktreeWithARelativeLink) {
  const test::ScratchTree tree;
  make_origin(tree);
  tree.git({"worktree", "add", "-q", "-b", "side", "../linked"}, "origin");
  tree.write("linked/.git", "gitdir: ../origin/.git/worktrees/linked\n");
  const FileListing listing = list(tree / "linked");
  EXPECT_EQ(paths(listing), kOriginFiles);
  EXPECT_EQ(listing.branch, "side");
}

TEST(OddRepositories, WorktreeConfiguration) {
  const test::ScratchTree tree;
  make_origin(tree);
  tree.git({"config", "core.repositoryFormatVersion", "1"}, "origin");
  tree.git({"config", "extensions.worktreeConfig", "true"}, "origin");
  const FileListing listing = list(tree / "origin");
  EXPECT_EQ(paths(listing), kOriginFiles);
  EXPECT_EQ(listing.note, "");
}

TEST(OddRepositories, SparseCone) {
  const test::ScratchTree tree;
  make_origin(tree);
  tree.git({"sparse-checkout", "set", "--cone", "dir"}, "origin");
  const FileListing listing = list(tree / "origin");
  EXPECT_EQ(paths(listing), (Paths{"a.txt", "dir/b.txt", "message"}));
  EXPECT_EQ(listing.note, "");
}

TEST(OddRepositories, SparseIndexIsListedWithoutGit) {
  const test::ScratchTree tree;
  make_origin(tree);
  tree.git({"sparse-checkout", "set", "--cone", "--sparse-index", "dir"}, "origin");
  tree.write("origin/.gitignore", "*.o\n");
  tree.write("origin/x.o", "x");
  const FileListing listing = list(tree / "origin");
  EXPECT_EQ(paths(listing), (Paths{".gitignore", "a.txt", "dir/b.txt", "message"}));
}

TEST(OddRepositories, Shallow) {
  const test::ScratchTree tree;
  make_origin(tree);
  tree.git({"clone", "-q", "--depth", "1", "file://" + (tree / "origin").string(), "shallow"});
  const FileListing listing = list(tree / "shallow");
  EXPECT_EQ(paths(listing), kOriginFiles);
  EXPECT_EQ(listing.note, "");
}

TEST(OddRepositories, PartialClone) {
  const test::ScratchTree tree;
  make_origin(tree);
  tree.git({"config", "uploadpack.allowFilter", "true"}, "origin");
  tree.git({"clone", "-q", "--filter=blob:none", "file://" + (tree / "origin").string(), "partial"});
  const FileListing listing = list(tree / "partial");
  EXPECT_EQ(paths(listing), kOriginFiles);
  EXPECT_EQ(listing.note, "");
}

TEST(OddRepositories, Submodules) {
  const test::ScratchTree tree;
  make_origin(tree);
  tree.write("origin/.gitignore", "*.tmp\n");
  tree.git({"add", "--all"}, "origin");
  tree.git({"commit", "-q", "-m", "ignore"}, "origin");
  std::filesystem::create_directories(tree / "super");
  tree.git({"init", "-q"}, "super");
  tree.write("super/.gitignore", "*.txt\n");
  tree.write("super/main.c", "x");
  tree.git({"submodule", "--quiet", "add", (tree / "origin").string(), "libs/sub"}, "super");
  tree.git({"submodule", "--quiet", "add", (tree / "origin").string(), "libs/gone"}, "super");
  tree.git({"submodule", "--quiet", "deinit", "--force", "libs/gone"}, "super");
  tree.write("super/libs/sub/scratch.tmp", "ignored there");
  tree.write("super/libs/sub/new.txt", "ignored here, but not there");
  const FileListing listing = list(tree / "super");
  EXPECT_EQ(paths(listing),
            (Paths{".gitignore", ".gitmodules", "libs/sub/.gitignore", "libs/sub/a.txt", "libs/sub/dir/b.txt",
                   "libs/sub/message", "libs/sub/new.txt", "libs/sub/other/c.txt", "main.c"}));
  EXPECT_TRUE(listing.skipped.empty());
}

TEST(OddRepositories, CloneInsideOfARepository) {
  const test::ScratchTree tree;
  make_origin(tree);
  tree.git({"clone", "-q", "origin", "origin/inner"});
  const FileListing listing = list(tree / "origin");
  EXPECT_EQ(paths(listing), kOriginFiles);
  ASSERT_EQ(listing.skipped.size(), 1U);
  EXPECT_EQ(listing.skipped[0].path, "inner/");
  EXPECT_EQ(listing.skipped[0].reason, "another repository");
}

TEST(OddRepositories, FolderOfRepositories) {
  const test::ScratchTree tree;
  make_origin(tree);
  tree.git({"clone", "-q", "origin", "second"});
  tree.write("second/.gitignore", "*.txt\n");
  tree.write("second/x.txt", "ignored");
  const FileListing listing = list(tree.root());
  EXPECT_EQ(paths(listing), (Paths{"origin/a.txt", "origin/dir/b.txt", "origin/message", "origin/other/c.txt",
                                   "second/.gitignore", "second/a.txt", "second/dir/b.txt", "second/message",
                                   "second/other/c.txt"}));
}

TEST(OddRepositories, Sha256) {
  const test::ScratchTree tree;
  tree.git({"init", "-q", "--object-format=sha256"});
  tree.write("a.c", "x");
  tree.write(".gitignore", "*.o\n");
  tree.commit();
  tree.write("a.o", "x");
  const FileListing listing = list(tree / ".");
  EXPECT_EQ(paths(listing), (Paths{".gitignore", "a.c"}));
  EXPECT_NE(listing.note.find("sha256"), std::string::npos) << listing.note;
  EXPECT_EQ(WorkTree::discover(tree.root())->root(), tree.root());
}

TEST(OddRepositories, OfAnotherOwner) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  const test::ScratchTree tree;
  make_origin(tree);
  tree.write("origin/.gitignore", "*.o\n");
  tree.write("origin/a.o", "x");
  for (const auto& entry : std::filesystem::recursive_directory_iterator(tree / "origin")) {
    ASSERT_EQ(::lchown(entry.path().c_str(), 12345, 12345), 0);
  }
  ASSERT_EQ(::lchown((tree / "origin").c_str(), 12345, 12345), 0);
  const auto work_tree = WorkTree::discover(tree / "origin/dir");
  ASSERT_TRUE(work_tree.has_value());
  EXPECT_EQ(work_tree->root(), tree / "origin");
  const auto listing = work_tree->list(1000);
  ASSERT_TRUE(listing.has_value());
  EXPECT_EQ(paths(*listing), (Paths{".gitignore", "a.txt", "dir/b.txt", "message", "other/c.txt"}));
  EXPECT_NE(
      listing->note.find("git config --global --add safe.directory '" + (tree / "origin").string() + "'"),
      std::string::npos)
      << listing->note;
}

TEST(OddRepositories, DamagedIndexOrHead) {
  const test::ScratchTree tree;
  make_origin(tree);
  tree.write("origin/.git/index", "DIRC not an index");
  EXPECT_EQ(paths(list(tree / "origin")), kOriginFiles);
  EXPECT_NE(list(tree / "origin").note, "");
  tree.write("origin/.git/HEAD", "nonsense");
  EXPECT_EQ(paths(list(tree / "origin")), kOriginFiles);
}

TEST(OddRepositories, RemovedSince) {
  auto tree = std::make_unique<test::ScratchTree>();
  tree->write("a", "x");
  const auto work_tree = WorkTree::discover(tree->root());
  ASSERT_TRUE(work_tree.has_value());
  tree.reset();
  const auto listing = work_tree->list(1000);
  ASSERT_FALSE(listing.has_value());
  EXPECT_EQ(listing.error().code, ErrorCode::kNotFound);
}

}  // namespace
}  // namespace kvboost::cache
