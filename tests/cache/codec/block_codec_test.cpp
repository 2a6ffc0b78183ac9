// SPDX-License-Identifier: Apache-2.0
#include "cache/codec/block_codec.h"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <random>

namespace kvboost::cache {
namespace {

float widen(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}
std::uint16_t cut(float value) {
  return static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(value) >> 16);
}

/// Normal numbers with a few channels that are large in every token, as keys have.
std::vector<std::uint16_t> sample(const BlockShape& shape, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<std::uint16_t> block(shape.elements());
  for (std::size_t i = 0; i < block.size(); ++i) {
    const bool outlier = (i % shape.row()) % 17 == 3;
    block[i] = cut(normal(random) + (outlier ? 20.0F : 0.0F));
  }
  return block;
}

double relative_error(std::span<const std::uint16_t> a, std::span<const std::uint16_t> b) {
  double difference = 0;
  double size = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference += std::pow(widen(a[i]) - widen(b[i]), 2);
    size += std::pow(widen(a[i]), 2);
  }
  return std::sqrt(difference / size);
}

std::vector<std::uint16_t> round_trip(const BlockShape& shape, const std::vector<std::uint16_t>& block,
                                      const std::vector<Codec>& per_layer) {
  const auto payload = encode_block(shape, block, per_layer);
  EXPECT_TRUE(payload.has_value());
  EXPECT_EQ(payload->size(), encoded_size(shape, per_layer));
  std::vector<std::uint16_t> out(shape.elements());
  EXPECT_TRUE(decode_block(shape, *payload, out).has_value());
  return out;
}

class BlockCodec : public testing::TestWithParam<BlockShape> {};

TEST_P(BlockCodec, Bf16IsBitEqual) {
  const BlockShape shape = GetParam();
  const auto block = sample(shape, 1);
  EXPECT_EQ(round_trip(shape, block, std::vector(shape.n_layers, Codec::kBf16)), block);
}

TEST_P(BlockCodec, EachElementIsWithinOneStepOfItsGroup) {
  const BlockShape shape = GetParam();
  const auto block = sample(shape, 2);
  for (const auto& [codec, bound] : {std::pair{Codec::kInt8, 0.015}, std::pair{Codec::kInt4, 0.12}}) {
    const auto out = round_trip(shape, block, std::vector(shape.n_layers, codec));
    EXPECT_LT(relative_error(block, out), bound) << to_string(codec);
  }
}

TEST_P(BlockCodec, LayersMayDiffer) {
  const BlockShape shape = GetParam();
  const auto block = sample(shape, 3);
  std::vector<Codec> per_layer;
  for (int i = 0; i < shape.n_layers; ++i) per_layer.push_back(static_cast<Codec>(i % 3));
  EXPECT_EQ(codecs_of(shape, encode_block(shape, block, per_layer).value()).value(), per_layer);
  const auto out = round_trip(shape, block, per_layer);
  const std::size_t layer = 2 * shape.plane();
  EXPECT_TRUE(std::equal(block.begin(), block.begin() + static_cast<std::ptrdiff_t>(layer), out.begin()))
      << "layer 0 is bf16";
  if (shape.n_layers > 1) {
    const auto a = std::span(block).subspan(layer, layer);
    const auto b = std::span(out).subspan(layer, layer);
    EXPECT_LT(relative_error(a, b), 0.015);
  }
}

TEST_P(BlockCodec, EqualNumbersComeBackExactly) {
  const BlockShape shape = GetParam();
  for (const float value : {0.0F, -3.25F, 1e-38F, 3e38F}) {
    const std::vector<std::uint16_t> block(shape.elements(), cut(value));
    for (const Codec codec : {Codec::kInt8, Codec::kInt4}) {
      EXPECT_EQ(round_trip(shape, block, std::vector(shape.n_layers, codec)), block) << value;
    }
  }
}

TEST_P(BlockCodec, WrongPayloadsAreCorrupt) {
  const BlockShape shape = GetParam();
  const auto block = sample(shape, 4);
  for (const Codec codec : {Codec::kBf16, Codec::kInt8, Codec::kInt4}) {
    auto payload = *encode_block(shape, block, std::vector(shape.n_layers, codec));
    std::vector<std::uint16_t> out(shape.elements());
    for (const std::size_t size : {std::size_t{0}, std::size_t{1}, payload.size() / 2, payload.size() - 1}) {
      const auto result = decode_block(shape, std::span(payload).first(size), out);
      ASSERT_FALSE(result.has_value());
      EXPECT_EQ(result.error().code, ErrorCode::kCorrupt);
    }
    payload[0] = std::byte{9};
    EXPECT_EQ(decode_block(shape, payload, out).error().code, ErrorCode::kCorrupt);
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, BlockCodec,
                         testing::Values(BlockShape{3, 3, 64, 200}, BlockShape{1, 1, 2, 1},
                                         BlockShape{5, 2, 16, 33}, BlockShape{2, 1, 80, 32},
                                         BlockShape{3, 5, 6, 31}));

TEST(BlockCodecErrors, RefusesNumbersThatAreNotFinite) {
  const BlockShape shape{1, 1, 4, 8};
  for (const std::uint16_t bad : std::to_array<std::uint16_t>({0x7F80, 0xFF80, 0x7FC0})) {
    auto block = sample(shape, 5);
    block[17] = bad;
    const auto result = encode_block(shape, block, std::vector{Codec::kInt8});
    ASSERT_FALSE(result.has_value());
    EXPECT_EQ(result.error().code, ErrorCode::kInvalidArgument);
  }
}

TEST(BlockCodecErrors, APayloadThatDoesNotSayItsCodecs) {
  const BlockShape shape{2, 1, 2, 1};
  const std::byte tags[] = {std::byte{0}, std::byte{9}};
  EXPECT_EQ(codecs_of(shape, tags).error().code, ErrorCode::kCorrupt);
  EXPECT_EQ(codecs_of(shape, std::span(tags).first(1)).error().code, ErrorCode::kCorrupt);
}

TEST(BlockCodecErrors, NamesOfCodecs) {
  EXPECT_EQ(*parse_codec("int8"), Codec::kInt8);
  EXPECT_EQ(parse_codec("int3").error().code, ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace kvboost::cache
