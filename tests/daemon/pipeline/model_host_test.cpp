// SPDX-License-Identifier: Apache-2.0
#include "daemon/pipeline/model_host.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "tests/support/scratch_tree.h"
#include "tests/support/tiny_model.h"

namespace kvboost::daemon {
namespace {

class ModelHostTest : public testing::Test {
 protected:
  ModelHostTest() {
    EXPECT_TRUE(test::write_tiny_model(scratch_ / "a.gguf", {.seed = 1}).has_value());
    EXPECT_TRUE(test::write_tiny_model(scratch_ / "b.gguf", {.seed = 2}).has_value());
  }
  Result<ModelHost::Lease> acquire(std::stop_token stop = {}) { return host_.acquire({}, std::move(stop)); }

  const test::ScratchTree scratch_;
  std::mutex mutex_;
  Result<std::filesystem::path> wanted_ = scratch_ / "a.gguf";
  std::atomic<int> located_ = 0;
  Scheduler engine_thread_{"engine", 1};
  ModelHost host_{engine_thread_,
                  [this] {
                    ++located_;
                    const std::lock_guard lock(mutex_);
                    return wanted_;
                  },
                  {.model = {}, .compute = engine::ComputeType::kFloat32},
                  {}};
};

TEST_F(ModelHostTest, LoadsOnceForAllWhoAskAtTheSameTime) {
  std::vector<std::jthread> clients;
  std::atomic<int> served = 0;
  for (int i = 0; i < 6; ++i) {
    clients.emplace_back([&] {
      const auto model = acquire();
      if (model && (*model)->engine->spec().n_layers == 3) ++served;
    });
  }
  clients.clear();
  EXPECT_EQ(served, 6);
  EXPECT_EQ(located_, 1);
  const auto snapshot = host_.snapshot();
  EXPECT_EQ(snapshot.state, ModelHost::State::kReady);
  EXPECT_EQ(snapshot.path, scratch_ / "a.gguf");
  EXPECT_TRUE(snapshot.info.has_value());
}

TEST_F(ModelHostTest, AFailureIsToldToEachAndTriedAnew) {
  wanted_ = fail(ErrorCode::kModel, "no model here", "put one there");
  for (int i = 0; i < 2; ++i) {
    const auto model = acquire();
    ASSERT_FALSE(model.has_value());
    EXPECT_EQ(model.error().code, ErrorCode::kModel);
    EXPECT_EQ(model.error().remedy, "put one there");
  }
  EXPECT_EQ(located_, 2);
  EXPECT_EQ(host_.check().error().message, "no model here");
  EXPECT_NE(host_.snapshot().error.find("no model here"), std::string::npos);
  wanted_ = scratch_ / "a.gguf";
  EXPECT_TRUE(host_.check().has_value());
  EXPECT_TRUE(acquire().has_value());
  EXPECT_TRUE(host_.snapshot().error.empty());
}

TEST_F(ModelHostTest, AFailureAtOnceIsNeverMissed) {
  wanted_ = fail(ErrorCode::kModel, "no model here");
  for (int i = 0; i < 2000; ++i) EXPECT_FALSE(acquire().has_value());
}

TEST_F(ModelHostTest, AnErrorNamesTheFile) {
  EXPECT_TRUE(test::write_tiny_model(scratch_ / "odd.gguf", {.pre_tokenizer = "unheard-of"}).has_value());
  wanted_ = scratch_ / "odd.gguf";
  EXPECT_NE(acquire().error().message.find("odd.gguf"), std::string::npos);
}

TEST_F(ModelHostTest, ReloadWaitsForThoseWhoUseTheOldOne) {
  std::optional<ModelHost::Lease> old;
  old.emplace(*acquire());
  {
    const std::lock_guard lock(mutex_);
    wanted_ = scratch_ / "b.gguf";
  }
  host_.reload();
  std::stop_source stop;
  std::jthread stopper([&] { stop.request_stop(); });
  EXPECT_EQ(acquire(stop.get_token()).error().code, ErrorCode::kCancelled) << "the old one is still in use";
  EXPECT_EQ((*old)->path, scratch_ / "a.gguf");
  old.reset();
  const auto model = acquire();
  ASSERT_TRUE(model.has_value()) << model.error().text();
  EXPECT_EQ((*model)->path, scratch_ / "b.gguf");
}

TEST_F(ModelHostTest, UnloadsOnlyWhatIsIdle) {
  {
    const auto model = acquire();
    host_.unload_if_idle(std::chrono::seconds(0));
    EXPECT_EQ(host_.snapshot().state, ModelHost::State::kReady);
  }
  host_.unload_if_idle(std::chrono::hours(1));
  EXPECT_EQ(host_.snapshot().state, ModelHost::State::kReady);
  host_.unload_if_idle(std::chrono::seconds(0));
  while (host_.snapshot().state != ModelHost::State::kIdle) std::this_thread::yield();
  EXPECT_TRUE(acquire().has_value()) << "it comes back when it is wanted";
  EXPECT_EQ(located_, 2);
}

TEST_F(ModelHostTest, AWaitIsCancelled) {
  std::promise<void> release;
  engine_thread_.submit(
      Priority::kCompletion,
      {.run = [&] { release.get_future().wait(); }, .drop = [](const Error&) {}, .stop = {}});
  std::stop_source stop;
  std::jthread client([&] { EXPECT_EQ(acquire(stop.get_token()).error().code, ErrorCode::kCancelled); });
  stop.request_stop();
  client.join();
  release.set_value();
}

}  // namespace
}  // namespace kvboost::daemon
