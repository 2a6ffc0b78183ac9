// SPDX-License-Identifier: Apache-2.0
// LoadedEngine: a tiny random model, written to a private directory and loaded, for the engine's tests.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <memory>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "tests/support/scratch_tree.h"
#include "tests/support/tiny_model.h"

namespace kvboost::test {

class LoadedEngine {
 public:
  explicit LoadedEngine(const TinyModel& model = {},
                        engine::ComputeType compute = engine::ComputeType::kFloat32,
                        std::int32_t context = 0) {
    const auto written = write_tiny_model(file_, model);
    EXPECT_TRUE(written.has_value());
    engine::EngineOptions options;
    options.model = file_;
    options.compute = compute;
    options.context = context;
    options.threads = 2;
    auto loaded = engine::Engine::load(options);
    if (loaded) {
      engine_ = std::move(*loaded);
    } else {
      ADD_FAILURE() << loaded.error().text();
    }
  }
  LoadedEngine(const LoadedEngine&) = delete;
  LoadedEngine& operator=(const LoadedEngine&) = delete;

  engine::Engine* operator->() const { return engine_.get(); }
  engine::Engine& operator*() const { return *engine_; }
  [[nodiscard]] const std::filesystem::path& file() const { return file_; }

  /// A sequence that holds these tokens.
  [[nodiscard]] engine::Sequence read(std::span<const engine::TokenId> tokens,
                                      const engine::PrefillOptions& options = {}) const {
    auto sequence = engine_->new_sequence();
    const auto done = engine_->prefill(*sequence, tokens, options);
    EXPECT_TRUE(done.has_value()) << (done ? "" : done.error().text());
    return std::move(*sequence);
  }

  [[nodiscard]] std::vector<float> logits(const engine::Sequence& sequence) const {
    const auto now = engine_->logits(sequence);
    return {now.begin(), now.end()};
  }

 private:
  const ScratchTree folder_;
  const std::filesystem::path file_ = folder_ / "tiny.gguf";
  std::unique_ptr<engine::Engine> engine_;
};

/// Random ids of byte tokens.
inline std::vector<engine::TokenId> random_tokens(std::size_t n, unsigned seed = 1) {
  std::mt19937 random(seed);
  std::vector<engine::TokenId> tokens(n);
  for (auto& token : tokens) token = kTinyFirstByte + static_cast<engine::TokenId>(random() % 256);
  return tokens;
}

inline double distance(std::span<const float> a, std::span<const float> b) {
  EXPECT_EQ(a.size(), b.size());
  double worst = 0.0;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    worst = std::isnan(a[i]) || std::isnan(b[i])
                ? INFINITY
                : std::max<double>(worst, std::abs(double{a[i]} - double{b[i]}));
  }
  return worst;
}

}  // namespace kvboost::test
