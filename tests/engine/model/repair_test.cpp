// SPDX-License-Identifier: Apache-2.0
// Repair as a partial forward, and what tokens attend to.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "engine/cpu.h"
#include "tests/engine/model/loaded_engine.h"

namespace kvboost::engine {
namespace {

using test::distance;
using test::LoadedEngine;
using test::random_tokens;

class RepairBothTypes : public ::testing::TestWithParam<ComputeType> {
 protected:
  void SetUp() override {
    if (GetParam() == ComputeType::kBFloat16 && !has_bfloat16())
      GTEST_SKIP() << "this CPU has no AVX512-BF16";
  }
};
INSTANTIATE_TEST_SUITE_P(Types, RepairBothTypes,
                         ::testing::Values(ComputeType::kFloat32, ComputeType::kBFloat16),
                         [](const auto& of) {
                           return of.param == ComputeType::kFloat32 ? "Float32" : "BFloat16";
                         });

// Chunks computed alone and placed one behind the other: wrong KV, until all of it is repaired.
struct Stitched {
  std::vector<TokenId> tokens;
  Sequence sequence;
};
Stitched stitch(const LoadedEngine& engine, int n_chunks) {
  Stitched made{{}, *engine->new_sequence()};
  for (int i = 0; i < n_chunks; ++i) {
    const auto chunk = random_tokens(50, 100 + i);
    KvBlock block;
    PrefillOptions options;
    options.capture = &block;
    const auto alone = engine.read(chunk, options);
    EXPECT_TRUE(engine->place(made.sequence, block, chunk, made.sequence.size()).has_value());
    made.tokens.insert(made.tokens.end(), chunk.begin(), chunk.end());
  }
  return made;
}

TEST_P(RepairBothTypes, RepairOfAllIsAFullRead) {
  for (const char* architecture : {"llama", "gemma3"}) {
    LoadedEngine engine({.architecture = architecture}, GetParam());
    Stitched stitched = stitch(engine, 4);
    const auto tail = random_tokens(20, 7);
    auto read = engine.read(stitched.tokens);
    ASSERT_TRUE(engine->prefill(read, tail).has_value());
    auto unrepaired = stitched.sequence.fork(stitched.sequence.size());
    ASSERT_TRUE(engine->prefill(unrepaired, tail).has_value());
    std::vector<std::int32_t> all(stitched.tokens.size());
    std::iota(all.begin(), all.end(), 0);
    PrefillOptions options;
    options.repair = all;
    ASSERT_TRUE(engine->prefill(stitched.sequence, tail, options).has_value());
    EXPECT_TRUE(std::ranges::equal(stitched.sequence.tokens(), read.tokens()));
    EXPECT_TRUE(std::ranges::equal(stitched.sequence.positions(), read.positions()));
    const double off = distance(engine->logits(stitched.sequence), engine->logits(read));
    EXPECT_LT(off, GetParam() == ComputeType::kBFloat16 ? 0.05 : 1e-3) << architecture;
    EXPECT_GT(distance(engine->logits(unrepaired), engine->logits(read)), 4 * off) << architecture;
  }
}

// Cells behind the last repaired one are not touched, those before it neither.
TEST_P(RepairBothTypes, RepairOfAPrefixIsAReadOfThatPrefix) {
  LoadedEngine engine({}, GetParam());
  Stitched stitched = stitch(engine, 3);
  std::vector<std::int32_t> second(50);
  std::iota(second.begin(), second.end(), 50);
  PrefillOptions options;
  options.repair = second;
  ASSERT_TRUE(engine->prefill(stitched.sequence, random_tokens(5, 7), options).has_value());
  stitched.sequence.truncate(100);
  auto read = engine.read(std::span(stitched.tokens).first(50));
  ASSERT_TRUE(engine->prefill(read, std::span(stitched.tokens).subspan(50, 50)).has_value());
  const auto tail = random_tokens(9, 8);
  ASSERT_TRUE(engine->prefill(stitched.sequence, tail).has_value());
  ASSERT_TRUE(engine->prefill(read, tail).has_value());
  EXPECT_LT(distance(engine->logits(stitched.sequence), engine->logits(read)),
            0.1);  // the first block went through bfloat16
}

TEST_P(RepairBothTypes, ARepairThatFailsLeavesNoMixture) {
  LoadedEngine engine({}, GetParam());
  Stitched stitched = stitch(engine, 3);
  std::stop_source stop;
  stop.request_stop();
  PrefillOptions options;
  const std::vector<std::int32_t> cells{60, 61, 120};
  options.repair = cells;
  options.stop = stop.get_token();
  EXPECT_EQ(engine->prefill(stitched.sequence, random_tokens(5), options).error().code,
            ErrorCode::kCancelled);
  EXPECT_EQ(stitched.sequence.size(), 60);
  for (const std::vector<std::int32_t>& wrong :
       {std::vector{5, 5}, std::vector{7, 3}, std::vector{-1}, std::vector{60}}) {
    options = {};
    options.repair = wrong;
    EXPECT_EQ(engine->prefill(stitched.sequence, random_tokens(5), options).error().code,
              ErrorCode::kInvalidArgument);
    EXPECT_EQ(stitched.sequence.size(), 60);
  }
}

TEST_P(RepairBothTypes, TellsWhatTokensAttendTo) {
  LoadedEngine engine({}, GetParam());
  auto sequence = engine.read(random_tokens(300, 3));
  const auto question = random_tokens(12, 4);
  const auto shares = engine->attention_of(sequence, question, {});
  ASSERT_TRUE(shares.has_value()) << shares.error().text();
  ASSERT_EQ(shares->size(), 300U);
  float sum = 0;
  for (const float share : *shares) {
    EXPECT_GE(share, 0);
    sum += share;
  }
  EXPECT_GT(sum, 0.5F);
  EXPECT_LT(sum, 1.0F);  // the rest goes to the question itself
  EXPECT_EQ(sequence.size(), 300);
  // The first layer alone and the others make the whole.
  const std::int32_t layers = engine->spec().n_layers;
  const auto first = engine->attention_of(sequence, question, {.end_layer = 1});
  const auto others = engine->attention_of(sequence, question, {.first_layer = 1});
  ASSERT_TRUE(first && others);
  for (std::size_t i = 0; i < 300; i += 37) {
    const float joined =
        ((*first)[i] + (*others)[i] * static_cast<float>(layers - 1)) / static_cast<float>(layers);
    EXPECT_NEAR((*shares)[i], joined, 1e-5F);
  }
  EXPECT_FALSE(engine->attention_of(sequence, question, {.first_layer = layers}).has_value());
  EXPECT_FALSE(engine->attention_of(sequence, question, {.end_layer = layers + 1}).has_value());
}

std::vector<std::int32_t> numbers(std::int32_t first, std::int32_t end) {
  std::vector<std::int32_t> all(end - first);
  std::iota(all.begin(), all.end(), first);
  return all;
}

std::vector<float> wide(const std::uint16_t* bits, std::size_t n) {
  std::vector<float> values(n);
  for (std::size_t i = 0; i < n; ++i)
    values[i] = std::bit_cast<float>(static_cast<std::uint32_t>(bits[i]) << 16);
  return values;
}

// Against the values of the chunk alone and of a full read, as they are captured.
TEST_P(RepairBothTypes, TellsHowFarValuesAreOff) {
  LoadedEngine engine({}, GetParam());
  Stitched stitched = stitch(engine, 2);
  KvBlock alone, read;
  PrefillOptions options;
  options.capture = &alone;
  (void)engine.read(std::span(stitched.tokens).last(50), options);
  options.capture = &read;
  (void)engine.read(stitched.tokens, options);
  auto copy = stitched.sequence.fork(100);
  const auto l2 = engine->deviation_of(stitched.sequence, numbers(0, 100), 1, ValueDistance::kL2);
  const auto cosine = engine->deviation_of(copy, numbers(0, 100), 1, ValueDistance::kCosine);
  ASSERT_TRUE(l2 && cosine);
  ASSERT_EQ(l2->size(), 100U);
  const std::size_t width = read.shape.row();
  for (std::size_t i = 0; i < 100; ++i) {
    if (i < 50) {  // nothing stands before them that did not before
      EXPECT_LT((*l2)[i], 0.05F);
      EXPECT_LT((*cosine)[i], 0.01F);
      continue;
    }
    const auto a = wide(alone.values(1) + (i - 50) * width, width);
    const auto b = wide(read.values(1) + i * width, width);
    float square = 0, product = 0, norm_a = 0, norm_b = 0;
    for (std::size_t d = 0; d < width; ++d) {
      square += (a[d] - b[d]) * (a[d] - b[d]);
      product += a[d] * b[d];
      norm_a += a[d] * a[d];
      norm_b += b[d] * b[d];
    }
    EXPECT_NEAR((*l2)[i], std::sqrt(square), 0.05F);
    EXPECT_NEAR((*cosine)[i], 1 - product / std::sqrt(norm_a * norm_b), 0.02F);
  }
  EXPECT_GT(std::ranges::max(*l2), 0.2F);
  EXPECT_TRUE(engine->logits(stitched.sequence).empty());
}

TEST_P(RepairBothTypes, ALookAtValuesThatFailsLeavesNoMixture) {
  LoadedEngine engine({}, GetParam());
  Stitched stitched = stitch(engine, 2);
  Sequence& sequence = stitched.sequence;
  const auto look = [&](const std::vector<std::int32_t>& cells, std::int32_t layer,
                        std::stop_token stop = {}) {
    return engine->deviation_of(sequence, cells, layer, ValueDistance::kL2, std::move(stop));
  };
  const std::int32_t layers = engine->spec().n_layers;
  for (const auto& refused :
       {look({}, 0), look({1}, -1), look({1}, layers), look({100}, 0), look({2, 1}, 0)}) {
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument);
  }
  EXPECT_EQ(sequence.size(), 100);
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(look({60, 70}, 1, stop.get_token()).error().code, ErrorCode::kCancelled);
  EXPECT_EQ(sequence.size(), 60);
}

}  // namespace
}  // namespace kvboost::engine
