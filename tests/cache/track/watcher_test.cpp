// SPDX-License-Identifier: Apache-2.0
#include "cache/track/watcher.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <fstream>
#include <mutex>
#include <thread>

#include "tests/support/scratch_tree.h"

namespace kvboost::cache {
namespace {

using namespace std::chrono_literals;

/// Counts the calls and lets the test wait for one.
class Calls {
 public:
  Watcher::OnChange counter() {
    return [this] {
      const std::lock_guard lock(mutex_);
      ++n_;
      changed_.notify_all();
    };
  }
  /// Whether there are `n` calls within a minute.
  bool reach(int n) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, 1min, [&] { return n_ >= n; });
  }
  int count() {
    const std::lock_guard lock(mutex_);
    return n_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int n_ = 0;
};

constexpr WatchOptions kQuick = {.max_folders = 100, .settle = 20ms, .longest = 200ms};

TEST(Watcher, TellsOfEveryKindOfChange) {
  const test::ScratchTree tree;
  tree.write("src/a.c", "1");
  tree.write("src/b.c", "1");
  Calls calls;
  const auto watcher = Watcher::start(tree.root(), calls.counter(), kQuick);
  const std::vector<std::string> folders = {"", "src"};
  watcher->watch(folders);
  EXPECT_EQ(watcher->note(), "");
  int n = 0;
  tree.write("src/a.c", "2");
  EXPECT_TRUE(calls.reach(++n));
  tree.write("new.c", "2");
  EXPECT_TRUE(calls.reach(++n));
  std::filesystem::rename(tree / "src/a.c", tree / "src/c.c");
  EXPECT_TRUE(calls.reach(++n));
  std::filesystem::remove(tree / "src/b.c");
  EXPECT_TRUE(calls.reach(++n));
  std::filesystem::create_directory(tree / "src/inner");
  EXPECT_TRUE(calls.reach(++n));
  std::filesystem::permissions(tree / "src/c.c", std::filesystem::perms::none);
  EXPECT_TRUE(calls.reach(++n));
  std::filesystem::remove_all(tree / "src");
  EXPECT_TRUE(calls.reach(++n));
}

TEST(Watcher, KeepsToTheFoldersThatItIsGiven) {
  const test::ScratchTree tree;
  tree.write("src/a.c", "1");
  tree.write("build/a.o", "1");
  Calls calls;
  const auto watcher = Watcher::start(tree.root(), calls.counter(), kQuick);
  watcher->watch(std::vector<std::string>{"", "src", "gone"});
  tree.write("build/a.o", "2");  // would be told before what follows
  watcher->watch(std::vector<std::string>{"src"});
  tree.write("b.c", "1");
  std::this_thread::sleep_for(300ms);
  EXPECT_EQ(calls.count(), 0);
  tree.write("src/a.c", "2");
  EXPECT_TRUE(calls.reach(1));
  watcher->watch(std::vector<std::string>{"build"});
  tree.write("build/a.o", "3");
  EXPECT_TRUE(calls.reach(2));
  EXPECT_EQ(watcher->note(), "");
}

TEST(Watcher, TellsOfManyChangesAtOnceAndNeverWaitsForEver) {
  const test::ScratchTree tree;
  Calls calls;
  const auto watcher =
      Watcher::start(tree.root(), calls.counter(), {.max_folders = 1, .settle = 60s, .longest = 500ms});
  watcher->watch(std::vector<std::string>{""});
  for (int i = 0; i < 1000; ++i) tree.write("f" + std::to_string(i), "x");
  EXPECT_TRUE(calls.reach(1));  // although it never settles
  EXPECT_LT(calls.count(), 500);
}

TEST(Watcher, SaysWhenThereAreTooManyFoldersAndWatchesNone) {
  const test::ScratchTree tree;
  tree.write("a/x", "1");
  tree.write("b/x", "1");
  Calls calls;
  const auto watcher =
      Watcher::start(tree.root(), calls.counter(), {.max_folders = 2, .settle = 1ms, .longest = 1ms});
  watcher->watch(std::vector<std::string>{"", "a"});
  EXPECT_EQ(watcher->note(), "");
  watcher->watch(std::vector<std::string>{"", "a", "b"});
  EXPECT_EQ(watcher->note(),
            "files are not watched (3 folders, and fs.inotify.max_user_watches leaves room for 2): changes "
            "are found "
            "when a request comes");
  tree.write("a/x", "2");
  std::this_thread::sleep_for(200ms);
  EXPECT_EQ(calls.count(), 0);
  watcher->watch(std::vector<std::string>{"a"});  // a branch with fewer
  EXPECT_EQ(watcher->note(), "");
  tree.write("a/x", "3");
  EXPECT_TRUE(calls.reach(1));
}

TEST(Watcher, StopsInTheMiddleOfEverything) {
  const test::ScratchTree tree;
  for (int round = 0; round < 50; ++round) {
    Calls calls;
    auto watcher =
        Watcher::start(tree.root(), calls.counter(), {.max_folders = 9, .settle = 1ms, .longest = 2ms});
    watcher->watch(std::vector<std::string>{""});
    std::jthread writer([&] {
      for (int i = 0; i < 20; ++i) tree.write("f" + std::to_string(i), "x");
    });
    std::jthread other([&] { watcher->watch(std::vector<std::string>{"", "f"}); });
    other.join();
    watcher.reset();
    const int then = calls.count();
    writer.join();
    EXPECT_EQ(calls.count(), then);
  }
}

TEST(Watcher, FoldersOfPaths) {
  EXPECT_EQ(folders_of({}), std::vector<std::string>{""});
  EXPECT_EQ(folders_of(std::vector<std::string>{"a/b/c.x", "a/d.x", "e.x", "a/b/f.x", "g/h/i/j"}),
            (std::vector<std::string>{"", "a", "a/b", "g", "g/h", "g/h/i"}));
}

}  // namespace
}  // namespace kvboost::cache
