// SPDX-License-Identifier: Apache-2.0
#include "daemon/pipeline/follower.h"

#include <chrono>
#include <thread>

#include "tests/daemon/pipeline/warmer_fixture.h"

namespace kvboost::daemon {
namespace {

using namespace std::chrono_literals;

class FollowerTest : public WarmerTest {
 protected:
  ~FollowerTest() override {
    if (follower_) follower_->stop();
    workers_.close();
  }

  static constexpr cache::WatchOptions kQuick = {.max_folders = 100, .settle = 10ms, .longest = 100ms};

  void follow(std::size_t most_folders = 100) {
    follower_ = std::make_unique<Follower>(
        Follower::Parts{workers_, daemon_->host, daemon_->warmer, daemon_->manifest},
        cache::WatchOptions{most_folders, kQuick.settle, kQuick.longest});
    follower_->served(repository_);
  }
  Follower::State state() const { return follower_->state(tree_.root()); }

  template <class Condition>
  static bool comes_about(const Condition& condition) {
    const auto end = std::chrono::steady_clock::now() + 1min;
    while (!condition()) {
      if (std::chrono::steady_clock::now() > end) return false;
      std::this_thread::sleep_for(2ms);
    }
    return true;
  }
  /// Whether the blocks of the file as it is now are all stored behind what stands before them.
  bool is_warm(const std::string& path) {
    const auto row = daemon_->manifest.find(tree_.root().string(), path);
    const auto text = repository_->read(path);
    return row && *row && text && (*row)->text == sha256(*text) &&
           std::ranges::all_of((*row)->chunks,
                               [&](const auto& part) { return daemon_->blocks.has(part.prefix); });
  }

  std::unique_ptr<Follower> follower_;
  Scheduler workers_{"worker", 2};  // ends before the follower that its jobs are of
};

TEST_F(FollowerTest, AnEditOfAWarmFileIsComputedWithoutARequest) {
  warmed();
  follow();
  ASSERT_TRUE(comes_about([&] { return state().folders > 0; }));
  EXPECT_EQ(state().note, "");
  tree_.write("b.c", functions("beta", 3) + function("edited"));
  EXPECT_TRUE(comes_about([&] { return is_warm("b.c"); }));
  tree_.write("b.c", functions("beta", 2) + function("again"));
  EXPECT_TRUE(comes_about([&] { return is_warm("b.c"); }));
}

TEST_F(FollowerTest, FilesThatWereNotWarmAreLeftAlone) {
  warmed();
  follow();
  ASSERT_TRUE(comes_about([&] { return state().folders > 0; }));
  tree_.write("c.c", functions("gamma", 3));
  tree_.write("b.c", functions("other", 3));
  EXPECT_TRUE(comes_about([&] { return is_warm("b.c"); }));
  wait_for_renewals();
  EXPECT_FALSE(is_warm("c.c"));
  EXPECT_EQ(daemon_->manifest.roots().front().files, 2U);
}

TEST_F(FollowerTest, WatchesOnlyTheFoldersOfWarmFiles) {
  tree_.write("src/deep/x.c", functions("deep", 2));
  tree_.write("ignored/y.c", functions("y", 2));
  tree_.write(".gitignore", "ignored/\n");
  follow();  // nothing is warm yet
  warmed();
  follower_->warmed(repository_);
  ASSERT_TRUE(comes_about([&] { return state().folders > 0; }));
  EXPECT_EQ(state().folders, 3U);  // the root, src, src/deep
}

// A folder that git takes away and makes anew is another one to the kernel.
TEST_F(FollowerTest, FollowsAFolderThatIsMadeAnew) {
  tree_.write("src/x.c", functions("x", 2));
  tree_.commit();
  warmed();
  follow();
  ASSERT_TRUE(comes_about([&] { return state().folders > 0; }));
  std::filesystem::remove_all(tree_ / "src");
  tree_.write("src/x.c", functions("first", 2));
  EXPECT_TRUE(comes_about([&] { return is_warm("src/x.c"); }));
  tree_.write("src/x.c", functions("second", 2));
  EXPECT_TRUE(comes_about([&] { return is_warm("src/x.c"); }));
}

TEST_F(FollowerTest, SaysWhyItDoesNotWatch) {
  tree_.write("src/x.c", functions("x", 2));
  warmed();
  follow(1);
  ASSERT_TRUE(comes_about([&] { return !state().note.empty(); }));
  EXPECT_NE(state().note.find("changes are found when a request comes"), std::string::npos) << state().note;
  EXPECT_EQ(state().folders, 0U);
}

TEST_F(FollowerTest, LetsTheOldestGoWhereAllTogetherAreTooMany) {
  warmed();
  follow(1);
  ASSERT_TRUE(comes_about([&] { return state().folders == 1; }));
  test::ScratchTree other;
  other.git({"init", "-q"});
  other.write("z.c", functions("z", 2));
  const auto second = *Repository::open(other.root(), {});
  EXPECT_TRUE(second->refresh({}).has_value());
  std::promise<void> done;
  daemon_->warmer.submit({.repository = second, .files = second->files()},
                         [&](const auto&) { done.set_value(); });
  done.get_future().wait();
  follower_->warmed(second);
  ASSERT_TRUE(comes_about([&] { return follower_->state(other.root()).folders == 1; }));
  EXPECT_EQ(state().folders, 0U);
}

TEST_F(FollowerTest, StopsInTheMiddleOfEverything) {
  warmed();
  for (int round = 0; round < 10; ++round) {
    std::optional<Follower> follower;
    Scheduler workers("worker", 2);  // ends before the follower that its jobs are of
    follower.emplace(Follower::Parts{workers, daemon_->host, daemon_->warmer, daemon_->manifest}, kQuick);
    follower->served(repository_);
    follower->warmed(repository_);
    tree_.write("b.c", functions("round" + std::to_string(round), 3));
    follower->stop();
    follower->served(repository_);
    EXPECT_EQ(follower->state(tree_.root()).folders, 0U);
  }
}

}  // namespace
}  // namespace kvboost::daemon
