// SPDX-License-Identifier: Apache-2.0
// What WorkTree::list gives, compared with what git itself lists.
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <random>

#include "cache/track/walk.h"
#include "cache/track/work_tree.h"
#include "tests/cache/track/listings.h"
#include "tests/support/scratch_tree.h"

namespace kvboost::cache {
namespace {

std::string reason(const FileListing& listing, const std::string& path) {
  const auto found = std::ranges::find(listing.skipped, path, &SkippedFile::path);
  return found == listing.skipped.end() ? "(not skipped)" : found->reason;
}

// git's own answer: tracked files, and untracked ones that are not ignored.
Paths git_lists(const test::ScratchTree& tree) {
  const std::string printed = tree.git({"ls-files", "-z", "--cached", "--others", "--exclude-standard"});
  Paths all;
  for (std::size_t begin = 0; begin < printed.size();) {
    const std::size_t end = printed.find('\0', begin);
    all.push_back(printed.substr(begin, end - begin));
    begin = end + 1;
  }
  std::ranges::sort(all);
  return all;
}

TEST(Listing, GivesTrackedFilesAndUntrackedOnesThatAreNotIgnored) {
  const test::ScratchTree tree;
  tree.git({"init", "-q"});
  tree.write("src/main.cpp", "int main() {}\n");
  tree.write("src/old.log", "tracked although ignored\n");
  tree.git({"add", "--all"});
  tree.write(".gitignore", "*.log\n/build/\n!keep.log\n");
  tree.write("src/new.log", "ignored\n");
  tree.write("keep.log", "not ignored\n");
  tree.write("build/out.o", "ignored\n");
  tree.write("src/build/kept.txt", "another build folder\n");
  tree.write("new.txt", "untracked\n");
  const FileListing listing = list(tree.root());
  EXPECT_EQ(paths(listing), (Paths{".gitignore", "keep.log", "new.txt", "src/build/kept.txt", "src/main.cpp",
                                   "src/old.log"}));
  EXPECT_EQ(paths(listing), git_lists(tree));
  EXPECT_EQ(listing.note, "");
  EXPECT_TRUE(listing.skipped.empty());
}

TEST(Listing, FindsTheRootFromAnyPlaceWithin) {
  const test::ScratchTree tree;
  tree.git({"init", "-q"});
  tree.write("a/b/c.txt", "x");
  for (const char* start : {".", "a", "a/b", "a/b/c.txt"}) {
    const auto found = WorkTree::discover(tree / start);
    ASSERT_TRUE(found.has_value()) << start;
    EXPECT_EQ(found->root(), tree.root()) << start;
    EXPECT_TRUE(found->is_repository());
  }
  const auto missing = WorkTree::discover(tree / "a/missing");
  ASSERT_FALSE(missing.has_value());
  EXPECT_EQ(missing.error().code, ErrorCode::kNotFound);
}

TEST(Listing, CarriesTheStatFields) {
  const test::ScratchTree tree;
  tree.git({"init", "-q"});
  tree.write("f", "12345");
  struct stat status = {};
  ASSERT_EQ(::stat((tree / "f").c_str(), &status), 0);
  const FileListing listing = list(tree.root());
  ASSERT_EQ(listing.files.size(), 1U);
  EXPECT_EQ(listing.files[0].size, 5U);
  EXPECT_EQ(listing.files[0].inode, status.st_ino);
  EXPECT_EQ(listing.files[0].mtime_ns, status.st_mtim.tv_sec * 1'000'000'000 + status.st_mtim.tv_nsec);
  EXPECT_EQ(listing.files[0].ctime_ns, status.st_ctim.tv_sec * 1'000'000'000 + status.st_ctim.tv_nsec);
}

TEST(Listing, EqualsGitOnRandomTreesAndRules) {
  std::mt19937 random(11);
  const Paths names = {"a", "b", "foo", "bar.c", "baz.o", "x y", "lib"};
  const Paths rules = {"*.o",   "/foo",  "b/",          "a/**/foo", "**/lib/*", "!bar.c",
                       "bar.?", "x\\ y", "[ab]",        "#no",      "",         "lib/",
                       "*",     "!*/",   "/a/b/*.[co]", "!lib",     "foo/bar.c"};
  for (int round = 0; round < 25; ++round) {
    const test::ScratchTree tree;
    tree.git({"init", "-q"});
    const auto random_path = [&] {
      std::string path;
      for (auto depth = random() % 4; depth > 0; --depth) path += names[random() % names.size()] + "/";
      return path + names[random() % names.size()];
    };
    const auto write_some = [&](int n) {
      for (int i = 0; i < n; ++i) {
        try {
          tree.write(random_path(), "x");
        } catch (const std::exception&) {
          continue;  // the name is a folder already, or beneath a file
        }
      }
    };
    write_some(15);
    tree.git({"add", "--all"});
    std::string ignore;
    for (int i = 0; i < 6; ++i) ignore += rules[random() % rules.size()] + "\n";
    tree.write(".gitignore", ignore);
    write_some(25);
    EXPECT_EQ(paths(list(tree.root())), git_lists(tree)) << "rules:\n" << ignore;
  }
}

TEST(Listing, LeavesOutWhatKvboostignoreNamesTrackedOrNot) {
  const test::ScratchTree tree;
  tree.git({"init", "-q"});
  tree.write("src/a.cpp", "x");
  tree.write("src/a.gen.cpp", "x");
  tree.write("vendor/big/lib.c", "x");
  tree.write("sub/vendor/ours.c", "x");
  tree.write(".kvboostignore", "# generated\n*.gen.cpp\n/vendor/\n");
  tree.commit();
  tree.write("src/b.gen.cpp", "untracked");
  const FileListing listing = list(tree.root());
  EXPECT_EQ(paths(listing), (Paths{".kvboostignore", "src/a.cpp", "sub/vendor/ours.c"}));
  EXPECT_EQ(reason(listing, "src/a.gen.cpp"), ".kvboostignore");
  EXPECT_EQ(reason(listing, "src/b.gen.cpp"), ".kvboostignore");
  EXPECT_EQ(reason(listing, "vendor/"), ".kvboostignore");
}

TEST(Listing, LeavesOutSecretsEvenWhenTracked) {
  const test::ScratchTree tree;
  tree.git({"init", "-q"});
  tree.write(".env", "PASSWORD=x");
  tree.write(".env.example", "PASSWORD=");
  tree.write("deploy/id_rsa", "x");
  tree.write("home/.ssh/config", "x");
  tree.commit();
  const FileListing listing = list(tree.root());
  EXPECT_EQ(paths(listing), Paths{".env.example"});
  for (const char* path : {".env", "deploy/id_rsa", "home/.ssh/"})
    EXPECT_EQ(reason(listing, path), "secret") << path;
}

TEST(Listing, NamesWithAnyBytes) {
  const test::ScratchTree tree;
  tree.git({"init", "-q"});
  const Paths names = {" leading and trailing ",
                       "quote\"'`",
                       "new\nline",
                       "\xC3\xBC.txt",
                       "u\xCC\x88.txt",
                       "byte\xFF",
                       "-rf",
                       "--help",
                       "*",
                       "back\\slash",
                       "tab\t",
                       "$(touch x)",
                       std::string(255, 'n')};
  for (const std::string& name : names) {
    tree.write(name, "tracked");
    tree.write("dir " + name.substr(0, 200) + "/" + name, "tracked");
  }
  tree.commit();
  for (const std::string& name : names) tree.write("untracked/" + name, "content");
  const FileListing listing = list(tree.root());
  EXPECT_EQ(paths(listing), git_lists(tree));
  EXPECT_EQ(listing.files.size(), 3 * names.size());
  const auto work_tree = WorkTree::discover(tree.root());
  for (const std::string& name : names) {
    EXPECT_EQ(work_tree->read_text("untracked/" + name).value_or("?"), "content");
  }
}

TEST(Listing, NeitherFollowsLinksNorOpensSpecialFiles) {
  const test::ScratchTree outside;
  outside.write("secret.txt", "not in the repository");
  const test::ScratchTree tree;
  tree.git({"init", "-q"});
  tree.write("real.txt", "x");
  tree.write("closed/hidden.txt", "x");
  namespace fs = std::filesystem;
  fs::create_symlink("real.txt", tree / "link.txt");
  fs::create_symlink("nowhere", tree / "dangling");
  fs::create_symlink(".", tree / "loop");
  fs::create_symlink(outside.root(), tree / "out");
  fs::create_symlink("self", tree / "self");
  tree.commit();
  ASSERT_EQ(::mkfifo((tree / "fifo").c_str(), 0600), 0);
  const int server = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  const std::string name = (tree / "socket").string();
  ASSERT_LT(name.size(), sizeof(address.sun_path));
  std::ranges::copy(name, address.sun_path);
  ASSERT_EQ(::bind(server, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  ASSERT_EQ(::chmod((tree / "closed").c_str(), 0), 0);

  const FileListing listing = list(tree.root());
  if (::geteuid() == 0) {
    EXPECT_EQ(paths(listing), (Paths{"closed/hidden.txt", "real.txt"}));  // nothing is closed to root
  } else {
    EXPECT_EQ(paths(listing), Paths{"real.txt"});
    EXPECT_EQ(reason(listing, "closed/"), "unreadable: Permission denied");
  }
  for (const char* link : {"link.txt", "dangling", "loop", "out", "self"}) {
    EXPECT_EQ(reason(listing, link), "symbolic link") << link;
  }
  EXPECT_EQ(reason(listing, "fifo"), "not a regular file");
  EXPECT_EQ(reason(listing, "socket"), "not a regular file");
  ::close(server);
}

TEST(Listing, LeavesOutLargeFilesWithTheLimit) {
  const test::ScratchTree tree;
  tree.git({"init", "-q"});
  tree.write("small", std::string(1000, 'x'));
  tree.write("large", std::string(1001, 'x'));
  const FileListing listing = list(tree.root(), 1000);
  EXPECT_EQ(paths(listing), Paths{"small"});
  EXPECT_EQ(reason(listing, "large"), "larger than 1.0 kB");
}

TEST(Listing, ListsDependenciesAndBuildsOnlyWhereTracked) {
  const test::ScratchTree tree;
  tree.git({"init", "-q"});
  tree.write("app/node_modules/patched/index.js", "tracked");
  tree.commit();
  tree.write("node_modules/left/index.js", "x");
  tree.write("out/CMakeCache.txt", "x");
  tree.write("out/generated.cpp", "x");
  tree.write("target/CACHEDIR.TAG", "x");
  tree.write("other/code.c", "x");
  const FileListing listing = list(tree.root());
  EXPECT_EQ(paths(listing), (Paths{"app/node_modules/patched/index.js", "other/code.c"}));
  EXPECT_EQ(reason(listing, "node_modules/"), "dependencies or a cache, by its name");
  EXPECT_EQ(reason(listing, "out/").substr(0, 14), "made by a tool");
  EXPECT_EQ(reason(listing, "target/").substr(0, 14), "made by a tool");
}

TEST(Listing, StopsAtTheLimitOfUntrackedFilesAndSaysSo) {
  const test::ScratchTree tree;
  tree.git({"init", "-q"});
  for (int i = 0; i < 30; ++i) tree.write("tracked/" + std::to_string(i), "x");
  tree.commit();
  for (int i = 0; i < 30; ++i) tree.write("a/" + std::to_string(i), "x");
  const auto listing =
      Walk(tree.root(), {.max_untracked_files = 10}).run(GitRules::open(tree.root(), tree / ".git"));
  ASSERT_TRUE(listing.has_value());
  EXPECT_EQ(listing->files.size(), 40U);
  EXPECT_NE(listing->note.find("more than 10 files"), std::string::npos) << listing->note;
}

TEST(Listing, EndsEarlyInADirectoryThatIsNoRepositoryAndSaysWhatToDo) {
  const test::ScratchTree tree;
  tree.write("inner/tracked", "x");
  tree.git({"init", "-q", "inner"});
  tree.git({"-C", "inner", "add", "--all"});
  for (int i = 0; i < 30; ++i) tree.write("z/" + std::to_string(10 + i), "four");
  const GitRules none = GitRules::open(tree.root(), {});
  const auto listed = [&](const WalkLimits& limits) {
    auto listing = Walk(tree.root(), limits).run(none);
    EXPECT_TRUE(listing.has_value());
    return std::pair(listing->files.size(), listing->note);
  };
  const auto told = [](const std::string& note, const std::string& limit) {
    return note.find("; " + limit +
                     ": the others are left out (go to the directory that you mean, or name") !=
           std::string::npos;
  };
  const auto all = listed({});
  EXPECT_EQ(all.first, 31U);
  const auto files = listed({.max_plain_files = 10});
  EXPECT_EQ(files.first, 10U);
  EXPECT_TRUE(told(files.second, "more than 10 files")) << files.second;
  const auto bytes = listed({.max_plain_bytes = 41});
  EXPECT_EQ(bytes.first, 11U);
  EXPECT_TRUE(told(bytes.second, "more than 41 B of files")) << bytes.second;
  const auto names = listed({.max_plain_entries = 13});
  EXPECT_LT(names.first, 13U);
  EXPECT_TRUE(told(names.second, "more than 13 names to look at")) << names.second;
}

TEST(Listing, CanBeStoppedAndTellsHowFarItIs) {
  const test::ScratchTree tree;
  for (int i = 0; i < 3000; ++i) tree.write("f" + std::to_string(i), "");
  const auto work_tree = WorkTree::discover(tree.root());
  ASSERT_TRUE(work_tree.has_value());
  std::stop_source stop;
  std::vector<std::int64_t> told;
  const auto listing = work_tree->list(1000, stop.get_token(), [&](std::int64_t names) {
    told.push_back(names);
    if (told.size() == 2) stop.request_stop();
  });
  ASSERT_FALSE(listing.has_value());
  EXPECT_EQ(listing.error().code, ErrorCode::kCancelled);
  EXPECT_EQ(told, (std::vector<std::int64_t>{1024, 2048}));
}

TEST(Listing, GoesNoDeeperThanTheLimit) {
  const test::ScratchTree tree;
  std::string deep;
  for (int i = 0; i < 150; ++i) deep += "d/";
  tree.write(deep + "file", "x");
  tree.write("d/near", "x");
  const FileListing listing = list(tree.root());
  EXPECT_EQ(paths(listing), Paths{"d/near"});
  ASSERT_EQ(listing.skipped.size(), 1U);
  EXPECT_EQ(listing.skipped[0].reason, "more than 100 folders deep");
}

TEST(Listing, IsSortedByPath) {
  const test::ScratchTree tree;
  for (const char* path : {"a/b", "a.c", "a", "B"}) {
    if (std::string_view(path) != "a") tree.write(path, "x");
  }
  EXPECT_EQ(paths(list(tree.root())), (Paths{"B", "a.c", "a/b"}));
}

}  // namespace
}  // namespace kvboost::cache
