// SPDX-License-Identifier: Apache-2.0
#include "daemon/prompt/repository.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <atomic>
#include <chrono>
#include <optional>
#include <thread>

#include "tests/support/scratch_tree.h"

namespace kvboost::daemon {
namespace {

using Paths = std::vector<std::string>;

std::shared_ptr<Repository> open(const test::ScratchTree& tree, RepositoryOptions options = {}) {
  auto repository = Repository::open(tree.root(), options);
  if (!repository) throw std::runtime_error(repository.error().text());
  return *repository;
}

RefreshResult refresh(Repository& repository) {
  auto result = repository.refresh({});
  if (!result) throw std::runtime_error(result.error().text());
  return *result;
}

// Files are taken for unchanged only when they were read a tick after their last change.
void let_a_tick_pass() {
  std::this_thread::sleep_for(std::chrono::milliseconds(40));
}

Paths paths(const std::vector<RankedSpan>& ranked) {
  Paths all;
  for (const auto& span : ranked) all.push_back(span.path);
  return all;
}

TEST(Repository, ReadsEachFileOnce) {
  const test::ScratchTree tree;
  tree.git({"init", "-q"});
  tree.write("a.c", "int alpha;\n");
  tree.write("dir/b.c", "int beta;\n");
  let_a_tick_pass();
  const auto repository = open(tree);
  const RefreshResult first = refresh(*repository);
  EXPECT_EQ(first.files, 2U);
  EXPECT_EQ(first.read, 2U);
  EXPECT_EQ(first.changed, 2U);
  const RefreshResult second = refresh(*repository);
  EXPECT_EQ(second.files, 2U);
  EXPECT_EQ(second.read, 0U);
  EXPECT_EQ(repository->files(), (Paths{"a.c", "dir/b.c"}));
  EXPECT_EQ(repository->files("dir/"), Paths{"dir/b.c"});
  EXPECT_EQ(repository->branch(), "main");
}

TEST(Repository, FollowsChanges) {
  const test::ScratchTree tree;
  tree.git({"init", "-q"});
  tree.write("a.c", "int alpha;\n");
  tree.write("b.c", "int beta;\n");
  tree.write("c.c", "int gamma;\n");
  let_a_tick_pass();
  const auto repository = open(tree);
  refresh(*repository);
  tree.write("a.c", "int delta;\n");  // same size
  tree.write("d.c", "int epsilon;\n");
  std::filesystem::remove(tree / "b.c");
  let_a_tick_pass();
  const RefreshResult result = refresh(*repository);
  EXPECT_EQ(result.read, 2U);
  EXPECT_EQ(result.changed, 2U);
  EXPECT_EQ(result.removed, 1U);
  EXPECT_EQ(repository->files(), (Paths{"a.c", "c.c", "d.c"}));
  EXPECT_TRUE(repository->rank_spans("alpha", 10).empty());
  EXPECT_TRUE(repository->rank_spans("beta", 10).empty());
  EXPECT_EQ(paths(repository->rank_spans("delta", 10)), Paths{"a.c"});
  EXPECT_EQ(paths(repository->rank_spans("epsilon", 10)), Paths{"d.c"});
}

TEST(Repository, SeesAnEditWithinTheTickOfTheLastReading) {
  const test::ScratchTree tree;
  tree.write("a.c", "int alpha;\n");
  const auto repository = open(tree);
  for (int i = 0; i < 20; ++i) {
    const std::string word = i % 2 == 0 ? "delta" : "gamma";
    refresh(*repository);
    tree.write("a.c", "int " + word + ";\n");  // no pause: size, inode and perhaps all times stay the same
    refresh(*repository);
    ASSERT_EQ(paths(repository->rank_spans(word, 10)), Paths{"a.c"}) << i;
  }
}

TEST(Repository, SeesAnEditThatKeepsTheModificationTime) {
  const test::ScratchTree tree;
  tree.write("a.c", "int alpha;\n");
  let_a_tick_pass();
  const auto repository = open(tree);
  refresh(*repository);
  struct stat before = {};
  ASSERT_EQ(::stat((tree / "a.c").c_str(), &before), 0);
  tree.write("a.c", "int delta;\n");
  const timespec times[] = {before.st_atim, before.st_mtim};
  ASSERT_EQ(::utimensat(AT_FDCWD, (tree / "a.c").c_str(), times, 0), 0);
  EXPECT_EQ(refresh(*repository).changed, 1U);
}

TEST(Repository, KnowsWhatWasOnlyTouched) {
  const test::ScratchTree tree;
  tree.write("a.c", "int alpha;\n");
  let_a_tick_pass();
  const auto repository = open(tree);
  refresh(*repository);
  std::filesystem::last_write_time(tree / "a.c", std::filesystem::file_time_type::clock::now());
  let_a_tick_pass();
  const RefreshResult result = refresh(*repository);
  EXPECT_EQ(result.read, 1U);
  EXPECT_EQ(result.changed, 0U);
}

TEST(Repository, TakesBothLineEndsForTheSameText) {
  const test::ScratchTree tree;
  std::string text;
  for (int i = 0; i < 500; ++i) text += "line " + std::to_string(i) + (i % 20 == 0 ? "\n\n" : "\n");
  std::string windows;
  for (const char c : text) windows += c == '\n' ? std::string("\r\n") : std::string(1, c);
  tree.write("unix.txt", text);
  tree.write("windows.txt", windows + "lone \r stays\r");
  const auto repository = open(tree);
  const auto a = repository->read("unix.txt");
  const auto b = repository->read("windows.txt");
  ASSERT_TRUE(a && b);
  EXPECT_EQ(*a, text);
  EXPECT_EQ(*b, text + "lone \r stays\r");
}

TEST(Repository, NamesWhatItLeavesOut) {
  const test::ScratchTree tree;
  tree.git({"init", "-q"});
  tree.write("a.c", "int alpha;\n");
  tree.write("logo.png", std::string("\x89PNG\0\1", 6));
  tree.write("latin.txt", "caf\xE9");
  tree.write("large.c", std::string(2000, 'x'));
  tree.write(".env", "PASSWORD=alpha");
  tree.write("node_modules/x/index.js", "alpha");
  const auto repository = open(tree, {.max_file_bytes = 1000});
  const RefreshResult result = refresh(*repository);
  EXPECT_EQ(result.files, 1U);
  EXPECT_EQ(repository->files(), Paths{"a.c"});
  EXPECT_EQ(repository->skip_reason("logo.png"), "binary (a NUL byte at offset 4)");
  EXPECT_EQ(repository->skip_reason("latin.txt"), "not UTF-8 (from offset 3 on)");
  EXPECT_EQ(repository->skip_reason("large.c"), "larger than 1.0 kB");
  EXPECT_EQ(repository->skip_reason(".env"), "secret");
  EXPECT_EQ(repository->skip_reason("node_modules/x/index.js"), "dependencies or a cache, by its name");
  EXPECT_EQ(repository->skip_reason("a.c"), "");
  EXPECT_EQ(repository->skipped().size(), 5U);
  EXPECT_EQ(paths(repository->rank_spans("alpha password", 10)), Paths{"a.c"});
  EXPECT_EQ(refresh(*repository).files, 1U);
}

TEST(Repository, FindsEachSpanByItsWords) {
  const test::ScratchTree tree;
  std::string text;
  for (int i = 0; i < 400; ++i) {
    text += "void step" + std::to_string(i) + "() {\n  run_the_same_thing_again_and_again();\n}\n\n";
  }
  tree.write("long.cpp", text);
  tree.write("empty.cpp", "");
  const auto repository = open(tree);
  refresh(*repository);
  const auto source = repository->read("long.cpp");
  for (const int wanted : {0, 17, 200, 399}) {
    const std::string name = "step" + std::to_string(wanted);
    const auto ranked = repository->rank_spans(name, 1);
    ASSERT_EQ(ranked.size(), 1U);
    EXPECT_EQ(ranked[0].path, "long.cpp");
    EXPECT_NE(source->substr(ranked[0].begin, ranked[0].end - ranked[0].begin).find(name + "("),
              std::string::npos);
    EXPECT_LT(ranked[0].end - ranked[0].begin, 2000U);
  }
  ASSERT_EQ(repository->rank_spans("empty", 5).size(), 1U);
  EXPECT_EQ(repository->rank_spans("empty", 5)[0].path, "empty.cpp");
}

TEST(Repository, KeepsTheIndexWithinItsLimit) {
  const test::ScratchTree tree;
  for (int i = 0; i < 10; ++i)
    tree.write("f" + std::to_string(i) + ".txt", std::string(900, ' ') + "needle\nand\n\nmore");
  const auto repository = open(tree, {.max_indexed_bytes = 5000});
  refresh(*repository);
  EXPECT_EQ(repository->rank_spans("needle", 100).size(), 5U);
  EXPECT_EQ(repository->rank_spans("f9", 100).size(), 1U);
  EXPECT_EQ(repository->files().size(), 10U);
  EXPECT_NE(repository->note().find("5 files are found by name only"), std::string::npos)
      << repository->note();
  EXPECT_EQ(repository->untold_note(), repository->note());
  EXPECT_EQ(repository->untold_note(), "") << "told already";
  for (int i = 0; i < 5; ++i) std::filesystem::remove(tree / ("f" + std::to_string(i) + ".txt"));
  refresh(*repository);
  tree.write("f9.txt", "needle");
  refresh(*repository);
  EXPECT_EQ(repository->rank_spans("needle", 100).size(), 1U);
}

TEST(Repository, StopsWhenToldAndGoesOnLater) {
  const test::ScratchTree tree;
  for (int i = 0; i < 200; ++i) tree.write(std::to_string(i), "word");
  let_a_tick_pass();
  const auto repository = open(tree);
  std::stop_source stop;
  const auto stopped =
      repository->refresh(stop.get_token(), [&](std::int64_t, std::int64_t) { stop.request_stop(); });
  ASSERT_FALSE(stopped.has_value());
  EXPECT_EQ(stopped.error().code, ErrorCode::kCancelled);
  const RefreshResult rest = refresh(*repository);
  EXPECT_LT(rest.read, 200U);
  EXPECT_EQ(rest.files, 200U);
}

TEST(Repository, StopsWaitingForAnothersRefresh) {
  const test::ScratchTree tree;
  for (int i = 0; i < 50; ++i) tree.write(std::to_string(i), "word");
  const auto repository = open(tree);
  std::stop_source stop;
  std::optional<Result<RefreshResult>> waiting;
  const auto first = repository->refresh({}, [&](std::int64_t, std::int64_t) {
    if (waiting) return;
    std::jthread other([&] { waiting = repository->refresh(stop.get_token()); });
    stop.request_stop();
    other.join();  // would never come back if it waited for this refresh
  });
  EXPECT_TRUE(first.has_value());
  ASSERT_TRUE(waiting.has_value());
  ASSERT_FALSE(waiting->has_value());
  EXPECT_EQ(waiting->error().code, ErrorCode::kCancelled);
  EXPECT_TRUE(repository->refresh({}).has_value());
}

TEST(Repository, TellsItsProgress) {
  const test::ScratchTree tree;
  for (int i = 0; i < 100; ++i) tree.write(std::to_string(i), "word");
  const auto repository = open(tree);
  std::int64_t last = 0;
  const auto result = repository->refresh({}, [&](std::int64_t done, std::int64_t total) {
    EXPECT_GT(done, last);
    EXPECT_EQ(total, 100);
    last = done;
  });
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(last, 100);
}

TEST(Repository, ServesManyThreads) {
  const test::ScratchTree tree;
  for (int i = 0; i < 50; ++i) tree.write(std::to_string(i) + ".c", "shared word" + std::to_string(i));
  const auto repository = open(tree);
  std::atomic<bool> done = false;
  std::vector<std::jthread> readers;
  for (int i = 0; i < 3; ++i) {
    readers.emplace_back([&] {
      while (!done) {
        for (const auto& span : repository->rank_spans("shared word3", 20)) EXPECT_FALSE(span.path.empty());
        static_cast<void>(repository->files());
        static_cast<void>(repository->skip_reason("3.c"));
        EXPECT_TRUE(repository->refresh({}).has_value());
      }
    });
  }
  for (int i = 0; i < 40; ++i) {
    tree.write(std::to_string(i) + ".c", "shared other" + std::to_string(i));
    EXPECT_TRUE(repository->refresh({}).has_value());
  }
  done = true;
  readers.clear();
  EXPECT_EQ(repository->rank_spans("shared", 100).size(), 50U);
  EXPECT_EQ(repository->rank_spans("other7", 100).front().path, "7.c");
}

TEST(Repository, FollowsASwitchOfBranch) {
  const test::ScratchTree tree;
  tree.git({"init", "-q"});
  tree.write("a.c", "int alpha;\n");
  tree.write("same.c", "int same;\n");
  tree.commit();
  tree.git({"checkout", "-q", "-b", "side"});
  tree.write("a.c", "int delta;\n");
  tree.commit();
  let_a_tick_pass();
  const auto repository = open(tree);
  refresh(*repository);
  EXPECT_EQ(repository->branch(), "side");
  tree.git({"checkout", "-q", "main"});
  let_a_tick_pass();
  EXPECT_EQ(refresh(*repository).changed, 1U);
  EXPECT_EQ(repository->branch(), "main");
  EXPECT_EQ(paths(repository->rank_spans("alpha", 10)), Paths{"a.c"});
  tree.git({"stash", "push", "-q"});
  EXPECT_EQ(refresh(*repository).changed, 0U);
}

}  // namespace
}  // namespace kvboost::daemon
