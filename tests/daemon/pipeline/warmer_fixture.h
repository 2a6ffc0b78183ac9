// SPDX-License-Identifier: Apache-2.0
// What tests of the warmer share: a daemon's parts around a tiny model, and a git repository with two files.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <thread>

#include "daemon/pipeline/plan_reader.h"
#include "daemon/pipeline/warmer.h"
#include "daemon/prompt/assembler.h"
#include "tests/support/scratch_tree.h"
#include "tests/support/tiny_model.h"

namespace kvboost::daemon {

// Of about 60 tokens each in the tiny model's alphabet.
inline std::string function(const std::string& name, const std::string& body = "value + 1") {
  return "int " + name + "(int value) {\n  int result = " + body +
         ";\n  while (result < 100) result *= 2;\n  return result;\n}\n\n";
}

inline std::string functions(const std::string& prefix, int n) {
  std::string text;
  for (int i = 0; i < n; ++i) text += function(prefix + std::to_string(i));
  return text;
}

class WarmerTest : public testing::Test {
 protected:
  WarmerTest() {
    EXPECT_TRUE(test::write_tiny_model(models_ / "a.gguf", {.seed = 1, .context = 8192}).has_value());
    EXPECT_TRUE(test::write_tiny_model(models_ / "b.gguf", {.seed = 2, .context = 8192}).has_value());
    wanted_ = models_ / "a.gguf";
    tree_.git({"init", "-q"});
    tree_.write("a.c", functions("alpha", 20));
    tree_.write("b.c", functions("beta", 4));
    tree_.commit();
    start();
  }
  ~WarmerTest() override { stop(); }

  // One life of a daemon.
  struct Daemon {
    explicit Daemon(WarmerTest& test)
        : blocks({.directory = test.models_ / "cache",
                  .disk = {.max_bytes = test.limit_disk_ ? 2'000'000ULL : 5'000'000'000, .free_floor = 0}}),
          manifest(blocks.store()),
          engine_thread("engine", 1),
          host(
              engine_thread, [&test] { return Result<std::filesystem::path>(test.wanted_); },
              {.model = {}, .compute = engine::ComputeType::kFloat32}, {},
              [](const auto& path, auto, const auto&) { return Result<Digest>(sha256(path.string())); }),
          gate({engine_thread, host, test.models_ / "reuse", test.choice_, test.tolerance_}),
          neighbours({manifest, gate}),
          warmer({engine_thread, host, blocks, manifest, neighbours, test.worth_a_trial_}) {}
    ~Daemon() { engine_thread.close(); }

    BlockCache blocks;
    cache::Manifest manifest;
    Scheduler engine_thread;
    ModelHost host;
    ReuseGate gate;
    Neighbours neighbours;
    Warmer warmer;
  };
  void start() {
    daemon_ = std::make_unique<Daemon>(*this);
    repository_ = *Repository::open(tree_.root(), {});
  }
  void stop() { daemon_.reset(); }

  Result<protocol::WarmResult> warm(std::stop_token stop = {}, bool dry_run = false,
                                    std::function<void(const protocol::WarmProgress&)> progress = {}) {
    EXPECT_TRUE(repository_->refresh({}).has_value());
    std::promise<Result<protocol::WarmResult>> promise;
    daemon_->warmer.submit({.repository = repository_,
                            .files = repository_->files(),
                            .whole_tree = true,
                            .dry_run = dry_run,
                            .progress = std::move(progress),
                            .stop = std::move(stop)},
                           [&](auto result) { promise.set_value(std::move(result)); });
    return promise.get_future().get();
  }
  protocol::WarmResult warmed() {
    auto result = warm();
    if (!result) {
      ADD_FAILURE() << result.error().text();
      return {};
    }
    return *result;
  }
  // Enough that a warm takes a while.
  void write_more() const {
    for (const char* name : {"c", "d", "e", "f", "g", "h"}) {
      tree_.write(std::string(name) + ".c", functions(name, 15));
    }
  }
  void wait_for_renewals() const {
    while (daemon_->warmer.to_renew() > 0 || !daemon_->warmer.state().root.empty()) std::this_thread::yield();
    daemon_->blocks.flush();
  }

  /// What `step` returns when the engine thread has run it.
  template <class Step>
  auto on_engine(Step step) {
    std::promise<decltype(step())> promise;
    daemon_->engine_thread.submit(
        Priority::kWarm,
        {.run = [&] { promise.set_value(step()); }, .drop = [](const Error&) {}, .stop = {}});
    return promise.get_future().get();
  }

  /// A question about one file, read with what is stored and without: tokens that were loaded, and the
  /// largest difference of logits.
  struct Asked {
    std::int32_t loaded = 0, computed = 0;
    float difference = 0;
  };
  Asked ask(const std::string& path) {
    auto lease = daemon_->host.acquire({}, {});
    LoadedModel& model = **lease;
    const auto plan = assemble(*repository_, {"What?", {path}, tree_.root(), 8000}, model.chat,
                               model.engine->tokenizer(), {});
    EXPECT_TRUE(plan.has_value());
    std::promise<Asked> promise;
    daemon_->engine_thread.submit(
        Priority::kAsk, {.run =
                             [&] {
                               const Reuse reuse{&daemon_->blocks, model.names->model, model.names->context};
                               auto stored = *model.engine->new_sequence();
                               auto fresh = *model.engine->new_sequence();
                               const auto read =
                                   read_plan(*model.engine, stored, {.plan = &*plan, .reuse = &reuse});
                               const auto plain = read_plan(*model.engine, fresh, {.plan = &*plan});
                               Asked asked;
                               for (const PartRead& part : read->parts) {
                                 asked.loaded += part.loaded;
                                 asked.computed += part.computed;
                               }
                               const auto a = model.engine->logits(stored), b = model.engine->logits(fresh);
                               for (std::size_t i = 0; i < a.size(); ++i) {
                                 asked.difference = std::max(asked.difference, std::abs(a[i] - b[i]));
                               }
                               promise.set_value(asked);
                             },
                         .drop = [](const Error&) {},
                         .stop = {}});
    return promise.get_future().get();
  }

  test::ScratchTree models_;
  test::ScratchTree tree_;
  std::filesystem::path wanted_;
  bool limit_disk_ = false;
  ReuseChoice choice_ = ReuseChoice::kAuto;
  double tolerance_ = 0;
  std::int64_t worth_a_trial_ = 1'000'000'000;
  std::unique_ptr<Daemon> daemon_;
  std::shared_ptr<Repository> repository_;
};

}  // namespace kvboost::daemon
