// SPDX-License-Identifier: Apache-2.0
// Every architecture, in both compute types, against the reference decoder.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "engine/cpu.h"
#include "engine/model/spec_reader.h"
#include "tests/engine/model/loaded_engine.h"
#include "tests/engine/model/reference_decoder.h"

namespace kvboost::engine {
namespace {

using test::LoadedEngine;
using test::TinyModel;

struct Worst {
  double error = 0.0;
  double spread = 0.0;  // of the reference's logits
};

/// The engine's logits of all tokens against the reference's.
Worst compare(const TinyModel& model, ComputeType compute, std::vector<std::int32_t> positions) {
  LoadedEngine engine(model, compute);
  const auto tokens = test::random_tokens(positions.size());
  auto gguf = Gguf::open(engine.file());
  const auto expected = test::reference_logits(*gguf, engine->spec(), tokens, positions);
  auto sequence = engine->new_sequence();
  PrefillOptions options;
  // In two calls, so that the second reads what the first left.
  const std::size_t half = tokens.size() / 2;
  Worst worst;
  for (const auto& [begin, end] : {std::pair{std::size_t{0}, half}, std::pair{half, tokens.size()}}) {
    options.positions = std::span(positions).subspan(begin, end - begin);
    const auto done = engine->prefill(*sequence, std::span(tokens).subspan(begin, end - begin), options);
    EXPECT_TRUE(done.has_value());
    const auto logits = engine->logits(*sequence);
    for (std::size_t i = 0; i < logits.size(); ++i) {
      worst.error = std::max(worst.error, std::abs(logits[i] - expected[end - 1][i]));
      worst.spread = std::max(worst.spread, std::abs(expected[end - 1][i]));
    }
  }
  return worst;
}

std::vector<std::int32_t> from(std::int32_t first, std::size_t n) {
  std::vector<std::int32_t> positions(n);
  std::iota(positions.begin(), positions.end(), first);
  return positions;
}

TinyModel shape(const std::string& architecture) {
  TinyModel model;
  model.architecture = architecture;
  model.seed = 3;
  if (architecture == "gemma3") model.sliding_window = 20;
  return model;
}

class Architecture : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(All, Architecture, ::testing::Values("llama", "qwen2", "qwen3", "gemma3"),
                         [](const auto& of) { return std::string(of.param); });

TEST_P(Architecture, Float32EqualsTheReference) {
  const Worst worst = compare(shape(GetParam()), ComputeType::kFloat32, from(0, 75));
  EXPECT_LT(worst.error, 1e-4 * worst.spread);
}

TEST_P(Architecture, Bfloat16IsNearTheReference) {
  if (!has_bfloat16()) GTEST_SKIP() << "this CPU has no AVX512-BF16";
  const Worst worst = compare(shape(GetParam()), ComputeType::kBFloat16, from(0, 75));
  EXPECT_LT(worst.error, 0.06 * worst.spread);
  EXPECT_GT(worst.error, 0.0);
}

TEST_P(Architecture, PositionsMayBeginAnywhereAndLeaveGaps) {
  auto positions = from(300, 30);
  const auto more = from(900, 31);
  positions.insert(positions.end(), more.begin(), more.end());
  const Worst worst = compare(shape(GetParam()), ComputeType::kFloat32, positions);
  EXPECT_LT(worst.error, 1e-4 * worst.spread);
}

TEST(ArchitectureDetails, FrequencyFactorsTurnMoreSlowly) {
  TinyModel model;
  model.frequency_factors = {1.0F, 1.0F, 2.0F, 2.0F, 4.0F, 4.0F, 8.0F, 8.0F};
  const Worst worst = compare(model, ComputeType::kFloat32, from(0, 40));
  EXPECT_LT(worst.error, 1e-4 * worst.spread);
}

TEST(ArchitectureDetails, UntiedOutputIsUsed) {
  TinyModel model;
  model.tied_output = false;
  const Worst worst = compare(model, ComputeType::kFloat32, from(0, 20));
  EXPECT_LT(worst.error, 1e-4 * worst.spread);
}

TEST(ArchitectureDetails, HeadsOf128ShareOneKvHead) {
  TinyModel model;
  model.n_heads = 4;
  model.n_kv_heads = 1;
  model.head_dim = 128;
  model.width = 128;
  const Worst worst = compare(model, ComputeType::kFloat32, from(0, 70));
  EXPECT_LT(worst.error, 1e-4 * worst.spread);
}

}  // namespace
}  // namespace kvboost::engine
