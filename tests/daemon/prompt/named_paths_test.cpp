// SPDX-License-Identifier: Apache-2.0
#include "daemon/prompt/named_paths.h"

#include <gtest/gtest.h>

#include "tests/support/scratch_tree.h"

namespace kvboost::daemon {
namespace {

using Paths = std::vector<std::string>;

class NamedPaths : public ::testing::Test {
 protected:
  NamedPaths() {
    tree_.git({"init", "-q"});
    tree_.write("a.c", "x");
    tree_.write("src/b.c", "x");
    tree_.write("src/deep/c.c", "x");
    tree_.write("src-other/d.c", "x");
    tree_.write(".env", "PASSWORD=x");
    tree_.write(".gitignore", "*.gen\n/out/\n");
    tree_.write("made.gen", "ignored, but text");
    tree_.write("out/o.txt", "ignored");
    tree_.write("logo.png", std::string("\x89PNG\0", 5));
    std::filesystem::create_symlink("a.c", tree_ / "link.c");
    std::filesystem::create_symlink("src", tree_ / "alias");
    std::filesystem::create_symlink("/etc", tree_ / "etc");
    std::filesystem::create_directories(tree_ / "nothing");
    repository_ = *Repository::open(tree_.root(), {});
    if (!repository_->refresh({})) throw std::runtime_error("refresh");
  }

  Paths resolved(const Paths& paths, std::string_view directory = ".") const {
    auto files = resolve_paths(*repository_, paths, tree_ / directory);
    return files ? *files : Paths{"! " + files.error().message};
  }

  ErrorCode code(const std::string& path) const {
    const auto files = resolve_paths(*repository_, {path}, tree_.root());
    return files ? ErrorCode::kInternal : files.error().code;
  }

  test::ScratchTree tree_;
  std::shared_ptr<Repository> repository_;
};

TEST_F(NamedPaths, KeepTheirOrderEachOnce) {
  EXPECT_EQ(resolved({"src/b.c", "a.c", "./src//b.c", "src"}), (Paths{"src/b.c", "a.c", "src/deep/c.c"}));
}

TEST_F(NamedPaths, TellFilesFromWhatFoldersHold) {
  const auto names = resolve_names(*repository_, {"src", "a.c", "src/b.c", "src/deep", "a.c"}, tree_.root());
  ASSERT_TRUE(names.has_value());
  EXPECT_EQ(names->single, (Paths{"a.c", "src/b.c"}));
  EXPECT_EQ(names->of_folders, Paths{"src/deep/c.c"});
}

TEST_F(NamedPaths, StartWhereTheUserStands) {
  EXPECT_EQ(resolved({"b.c", "../a.c", "deep"}, "src"), (Paths{"src/b.c", "a.c", "src/deep/c.c"}));
  EXPECT_EQ(resolved({(tree_ / "a.c").string()}, "src"), Paths{"a.c"});
}

TEST_F(NamedPaths, MayBeFolders) {
  EXPECT_EQ(resolved({"src"}), (Paths{"src/b.c", "src/deep/c.c"}));
  EXPECT_EQ(resolved({"src/"}), (Paths{"src/b.c", "src/deep/c.c"}));
  EXPECT_EQ(resolved({"."}, "src"), (Paths{"src/b.c", "src/deep/c.c"}));
  EXPECT_EQ(resolved({"."}), (Paths{".gitignore", "a.c", "src-other/d.c", "src/b.c", "src/deep/c.c"}));
  EXPECT_EQ(resolved({tree_.root().string() + "/"}).size(), 5U);
}

TEST_F(NamedPaths, MayComeThroughALink) {
  test::ScratchTree outside;
  std::filesystem::create_symlink(tree_.root(), outside / "here");
  const auto files = resolve_paths(*repository_, {"a.c", "src/b.c"}, outside / "here");
  ASSERT_TRUE(files.has_value());
  EXPECT_EQ(*files, (Paths{"a.c", "src/b.c"}));
  const auto within = resolve_paths(*repository_, {"."}, outside / "here/src");
  ASSERT_TRUE(within.has_value());
  EXPECT_EQ(*within, (Paths{"src/b.c", "src/deep/c.c"}));
  EXPECT_EQ(resolved({"alias/b.c"}), Paths{"src/b.c"});
}

TEST_F(NamedPaths, MayBeIgnoredByGit) {
  EXPECT_EQ(resolved({"made.gen"}), Paths{"made.gen"});
}

TEST_F(NamedPaths, OutsideOfTheWorkTreeAreRefused) {
  for (const std::string path : {"../x.c", "/etc/hostname", "etc/hostname", "src/../../y"}) {
    EXPECT_EQ(code(path), ErrorCode::kInvalidArgument) << path;
    EXPECT_EQ(resolved({path})[0], "! " + path + " is outside of the work tree " + tree_.root().string());
  }
}

TEST_F(NamedPaths, LeftOutFilesAreRefusedWithTheReason) {
  EXPECT_EQ(resolved({"a.c", ".env"}), Paths{"! .env is not read: secret"});
  EXPECT_EQ(resolved({"logo.png"}), Paths{"! logo.png is not read: binary (a NUL byte at offset 4)"});
  EXPECT_EQ(resolved({"link.c"}), Paths{"! link.c is not read: symbolic link"});
  EXPECT_EQ(resolved({".git/config"}), Paths{"! .git/config is not read: git's own file"});
}

TEST_F(NamedPaths, OnePathNeedNotExist) {
  const auto within = [&](const std::string& given, std::string_view directory) {
    const auto path = path_in_root(tree_.root(), given, tree_ / directory);
    return path ? *path : "! " + path.error().message;
  };
  EXPECT_EQ(within("gone.c", "src"), "src/gone.c");
  EXPECT_EQ(within("../src/deep/", "src"), "src/deep");
  EXPECT_EQ(within("alias/gone.c", "."), "src/gone.c");
  EXPECT_EQ(within("link.c", "."), "link.c");
  EXPECT_EQ(within(".", "."), "");
  EXPECT_EQ(within("..", "src"), "");
  EXPECT_TRUE(within("../..", "src").starts_with("! ../.. is outside of the work tree"));
  EXPECT_TRUE(within("etc/passwd", ".").starts_with("! etc/passwd is outside"));
}

TEST_F(NamedPaths, MissingOnesAreNamed) {
  EXPECT_EQ(code("absent.c"), ErrorCode::kNotFound);
  EXPECT_EQ(resolved({"absent.c"}), Paths{"! absent.c: no such file or folder"});
  EXPECT_EQ(resolved({"nothing"}), Paths{"! nothing: no files to read in this folder"});
  EXPECT_EQ(resolved({"out"}), Paths{"! out: no files to read in this folder"});
}

}  // namespace
}  // namespace kvboost::daemon
