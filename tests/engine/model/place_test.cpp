// SPDX-License-Identifier: Apache-2.0
// Blocks placed away from where they were computed: the keys must be those that a read there gives.
#include <gtest/gtest.h>

#include "cache/codec/block_codec.h"
#include "engine/cpu.h"
#include "tests/engine/model/loaded_engine.h"
#include "tests/engine/model/sequence_cells.h"

namespace kvboost::engine {
namespace {

using test::cell_difference;
using test::LoadedEngine;
using test::random_tokens;
using test::TinyModel;

constexpr std::int32_t kTokens = 40;

KvBlock captured(const LoadedEngine& engine, std::span<const TokenId> tokens) {
  KvBlock block;
  PrefillOptions options;
  options.capture = &block;
  (void)engine.read(tokens, options);
  return block;
}

Sequence read_at(const LoadedEngine& engine, std::span<const TokenId> tokens, std::int32_t first) {
  std::vector<std::int32_t> positions(tokens.size());
  std::iota(positions.begin(), positions.end(), first);
  PrefillOptions options;
  options.positions = positions;
  return engine.read(tokens, options);
}

Sequence placed_at(const LoadedEngine& engine, std::span<const TokenId> tokens, const KvBlock& block,
                   std::int32_t first) {
  auto sequence = engine->new_sequence();
  EXPECT_TRUE(engine->place(*sequence, block, tokens, first).has_value());
  return std::move(*sequence);
}

struct Scaling {
  const char* name;
  TinyModel model;
};

std::vector<Scaling> scalings() {
  TinyModel plain{.context = 16384}, linear = plain, yarn = plain, llama3 = plain, qwen = plain;
  linear.rope_scaling = "linear";
  linear.rope_factor = 4;
  yarn.rope_scaling = "yarn";
  yarn.rope_factor = 4;
  yarn.original_context = 4096;
  llama3.frequency_factors = {1, 1, 1, 1.5F, 3, 6, 8, 8};
  qwen.architecture = "qwen2";
  return {{"none", plain}, {"linear", linear}, {"yarn", yarn}, {"llama3", llama3}, {"halves", qwen}};
}

class PlaceBothTypes : public ::testing::TestWithParam<ComputeType> {
 protected:
  void SetUp() override {
    if (GetParam() == ComputeType::kBFloat16 && !has_bfloat16())
      GTEST_SKIP() << "this CPU has no AVX512-BF16";
  }
};
INSTANTIATE_TEST_SUITE_P(Types, PlaceBothTypes,
                         ::testing::Values(ComputeType::kFloat32, ComputeType::kBFloat16),
                         [](const auto& of) {
                           return of.param == ComputeType::kFloat32 ? "Float32" : "BFloat16";
                         });

// What is computed elsewhere differs by rounding: a block is bfloat16, and bfloat16 attention rounds scores
// that depend on the position.
TEST_P(PlaceBothTypes, KeysEqualFreshOnesForEachScalingOfRope) {
  const auto tokens = random_tokens(kTokens, 5);
  for (const Scaling& scaling : scalings()) {
    const LoadedEngine engine(scaling.model, GetParam());
    const KvBlock block = captured(engine, tokens);
    for (const std::int32_t first : {100, 8000}) {
      const auto fresh = read_at(engine, tokens, first), placed = placed_at(engine, tokens, block, first);
      EXPECT_TRUE(std::ranges::equal(placed.positions(), fresh.positions()));
      const auto off = cell_difference(*engine, fresh, placed, 0, kTokens);
      EXPECT_LT(off.most, 0.02F * off.size) << scaling.name << " at " << first;
      // The test would see a rotation that is off by one position.
      const auto shifted = placed_at(engine, tokens, block, first + 1);
      EXPECT_GT(cell_difference(*engine, fresh, shifted, 0, kTokens).most, 0.1F * off.size) << scaling.name;
    }
  }
}

TEST(PlaceQuantised, ErrorsStayWithinTheCodecsBoundAtEachPlace) {
  const LoadedEngine engine({.context = 8192});
  const auto tokens = random_tokens(kTokens, 6);
  const KvBlock block = captured(engine, tokens);
  const cache::BlockShape shape{block.shape.n_layers, block.shape.n_kv_heads, block.shape.head_dim, kTokens};
  const std::vector<cache::Codec> codecs(static_cast<std::size_t>(shape.n_layers), cache::Codec::kInt8);
  const auto payload = cache::encode_block(shape, block.data, codecs);
  ASSERT_TRUE(payload.has_value());
  KvBlock decoded = block;
  ASSERT_TRUE(cache::decode_block(shape, *payload, decoded.data).has_value());
  ASSERT_NE(decoded.data, block.data);
  float first_error = 0;
  for (const std::int32_t place : {0, 128, 4096}) {
    const auto plain = placed_at(engine, tokens, block, place),
               coded = placed_at(engine, tokens, decoded, place);
    const auto off = cell_difference(*engine, plain, coded, 0, kTokens);
    EXPECT_GT(off.most, 0);
    EXPECT_LT(off.most, 0.015F * off.size) << place;  // tests/cache/codec/block_codec_test.cpp
    // A rotation keeps lengths: the error of a pair of dimensions can gain the square root of 2 at most.
    if (place == 0) first_error = off.most;
    EXPECT_LT(off.most, 1.5F * first_error) << place;
  }
}

}  // namespace
}  // namespace kvboost::engine
