// SPDX-License-Identifier: Apache-2.0
// Packed products against dequantising and multiplying, for every quantised type and every kernel that this
// CPU can run.
#include "engine/kernels/packed_matrix.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "engine/kernels/packed_group.h"
#include "engine/model/dequantise.h"
#include "engine/model/quant_block.h"

namespace kvboost::engine {
namespace {

constexpr TensorType kTypes[] = {TensorType::kQ4_0, TensorType::kQ4_1, TensorType::kQ5_0, TensorType::kQ5_1,
                                 TensorType::kQ8_0, TensorType::kQ2_K, TensorType::kQ3_K, TensorType::kQ4_K,
                                 TensorType::kQ5_K, TensorType::kQ6_K};

/// Where the halves of a block's scale and minimum stand.
std::vector<std::size_t> half_offsets(TensorType type) {
  switch (type) {
    case TensorType::kQ2_K:
      return {80, 82};
    case TensorType::kQ3_K:
      return {108};
    case TensorType::kQ6_K:
      return {208};
    case TensorType::kQ4_1:
    case TensorType::kQ5_1:
    case TensorType::kQ4_K:
    case TensorType::kQ5_K:
      return {0, 2};
    default:
      return {0};
  }
}

/// Random blocks with scales of ordinary size.
struct RandomTensor {
  RandomTensor(TensorType type, std::int32_t inputs, std::int32_t outputs, std::mt19937& random) {
    const BlockFormat format = block_format(type);
    bytes.resize(static_cast<std::size_t>(inputs / format.elements * format.bytes) * outputs);
    for (auto& byte : bytes) byte = static_cast<std::byte>(random());
    for (std::size_t at = 0; at < bytes.size(); at += static_cast<std::size_t>(format.bytes)) {
      for (const std::size_t offset : half_offsets(type)) {
        const auto half = static_cast<std::uint16_t>(0x1800U + random() % 0x0C00U + (random() % 2) * 0x8000U);
        std::memcpy(bytes.data() + at + offset, &half, sizeof half);
      }
    }
    tensor = {"t", type, {inputs, outputs}, bytes};
  }
  RandomTensor(const RandomTensor&) = delete;
  RandomTensor& operator=(const RandomTensor&) = delete;

  std::vector<std::byte> bytes;
  GgufTensor tensor;
};

struct Free {
  void operator()(std::byte* memory) const { std::free(memory); }
};

struct Packed {
  explicit Packed(const GgufTensor& tensor)
      : memory(static_cast<std::byte*>(std::aligned_alloc(64, PackedMatrix::bytes(tensor)))),
        matrix(PackedMatrix::pack(tensor, {memory.get(), PackedMatrix::bytes(tensor)})) {}

  std::unique_ptr<std::byte, Free> memory;
  PackedMatrix matrix;
};

std::vector<float> random_row(std::int32_t n, std::mt19937& random) {
  std::normal_distribution<float> distribution;
  std::vector<float> row(static_cast<std::size_t>(n));
  for (float& value : row) value = distribution(random);
  return row;
}

struct Product {
  std::vector<double> y;
  double size = 0;  // of y, had the signs been random: what an error is measured by
};

Product exact_product(const GgufTensor& tensor, const std::vector<float>& x) {
  std::vector<float> weights(static_cast<std::size_t>(tensor.elements()));
  dequantise(tensor.type, tensor.data, weights);
  Product product{std::vector<double>(static_cast<std::size_t>(tensor.shape[1]))};
  double of_weights = 0;
  double of_row = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    product.y[i / x.size()] += double{weights[i]} * x[i % x.size()];
    of_weights += double{weights[i]} * weights[i];
  }
  for (const float value : x) of_row += double{value} * value;
  product.size = std::sqrt(of_weights * of_row / static_cast<double>(x.size()));
  return product;
}

double distance(const std::vector<float>& y, const Product& expected) {
  double difference = 0;
  for (std::size_t i = 0; i < y.size(); ++i) difference += (y[i] - expected.y[i]) * (y[i] - expected.y[i]);
  return std::sqrt(difference) / expected.size;
}

class PackedMatrixOf : public testing::TestWithParam<TensorType> {};

TEST_P(PackedMatrixOf, EqualsDequantisingAndMultiplying) {
  std::mt19937 random(7);
  for (const std::int32_t outputs : {1, 16, 37}) {
    for (const std::int32_t inputs : {256, 768}) {
      const RandomTensor weights(GetParam(), inputs, outputs, random);
      const Packed packed(weights.tensor);
      auto row = random_row(inputs, random);
      for (const float outlier : {1.0F, 40.0F}) {  // as activations have; it coarsens its neighbours
        row[static_cast<std::size_t>(inputs) / 2] = outlier;
        PackedRow x;
        x.set(row);
        std::vector<float> y(static_cast<std::size_t>(outputs) + 1, -1.0F);
        packed.matrix.multiply(x, 0, packed.matrix.n_groups(), y.data());
        EXPECT_EQ(y.back(), -1.0F) << "written behind the last output";
        y.pop_back();
        EXPECT_LT(distance(y, exact_product(weights.tensor, row)), outlier > 1.0F ? 3e-4 : 1e-4)
            << outputs << " x " << inputs << ", " << outlier;
      }
    }
  }
}

TEST_P(PackedMatrixOf, RowsComeOutAsTheyWentIn) {
  std::mt19937 random(6);
  const RandomTensor weights(GetParam(), 512, 37, random);
  const Packed packed(weights.tensor);
  std::vector<float> all(37 * 512);
  dequantise(GetParam(), weights.tensor.data, all);
  for (std::int32_t output = 0; output < 37; ++output) {
    std::vector<float> row(512);
    packed.matrix.row(output, row);
    for (std::size_t i = 0; i < row.size(); ++i)
      ASSERT_EQ(row[i], all[static_cast<std::size_t>(output) * 512 + i]) << output;
  }
}

TEST_P(PackedMatrixOf, EveryKernelGivesTheSame) {
  std::mt19937 random(8);
  const RandomTensor weights(GetParam(), 1024, 16, random);
  const Packed packed(weights.tensor);
  const auto row = random_row(1024, random);
  PackedRow x;
  x.set(row);
  const auto quant_bytes = with_format(GetParam(), [](auto format) { return 1024 / 32 * format.kUnitBytes; });
  const PackedGroup group{reinterpret_cast<const std::uint8_t*>(packed.memory.get()),
                          packed.memory.get() + quant_bytes};
  std::vector<float> expected(16);
  group_product_portable(GetParam())(group, x, expected.data());
  const Product exact{{expected.begin(), expected.end()}, exact_product(weights.tensor, row).size};
  const auto expect_same = [&](GroupProduct product, const char* name) {
    std::vector<float> y(16);
    product(group, x, y.data());
    EXPECT_LT(distance(y, exact), 1e-6) << name;
  };
  if (packed_kernels() != "portable") expect_same(group_product_avx2(GetParam()), "avx2");
  if (packed_kernels() == "avx512-vnni") expect_same(group_product_avx512(GetParam()), "avx512");
}

TEST_P(PackedMatrixOf, GroupsCanBeSharedOut) {
  std::mt19937 random(9);
  const RandomTensor weights(GetParam(), 256, 40, random);
  const Packed packed(weights.tensor);
  PackedRow x;
  x.set(random_row(256, random));
  std::vector<float> whole(40);
  std::vector<float> parts(40);
  packed.matrix.multiply(x, 0, 3, whole.data());
  packed.matrix.multiply(x, 1, 3, parts.data());
  packed.matrix.multiply(x, 0, 1, parts.data());
  EXPECT_EQ(parts, whole);
}

/// The largest quants and values, so that a sum that is too narrow overflows.
TEST_P(PackedMatrixOf, LargestNumbersDoNotOverflow) {
  std::mt19937 random(10);
  RandomTensor weights(GetParam(), 256, 16, random);
  const auto layout = *quant_layout(GetParam());
  const std::vector<std::size_t> halves = half_offsets(GetParam());
  for (std::size_t i = 0; i < weights.bytes.size(); ++i) {
    const std::size_t in_block = i % static_cast<std::size_t>(layout.bytes);
    const bool in_half =
        std::ranges::any_of(halves, [&](std::size_t at) { return in_block == at || in_block == at + 1; });
    if (!in_half)
      weights.bytes[i] = std::byte{GetParam() == TensorType::kQ8_0 ? std::uint8_t{0x7F} : std::uint8_t{0xFF}};
  }
  for (const float value : {1.0F, -1.0F}) {
    const std::vector<float> row(256, value);
    PackedRow x;
    x.set(row);
    const Packed packed(weights.tensor);
    std::vector<float> y(16);
    packed.matrix.multiply(x, 0, 1, y.data());
    EXPECT_LT(distance(y, exact_product(weights.tensor, row)), 1e-4);
  }
}

INSTANTIATE_TEST_SUITE_P(Types, PackedMatrixOf, testing::ValuesIn(kTypes),
                         [](const auto& parameter) { return std::string(to_string(parameter.param)); });

TEST(PackedMatrix, PlainNumbersAreNotPacked) {
  EXPECT_FALSE(PackedMatrix::packs(TensorType::kF32));
  EXPECT_FALSE(PackedMatrix::packs(TensorType::kBF16));
  EXPECT_TRUE(PackedMatrix::packs(TensorType::kQ6_K));
}

TEST(PackedRow, HoldsValuesToSixteenBits) {
  std::mt19937 random(11);
  const auto row = random_row(96, random);
  PackedRow x;
  x.set(row);
  ASSERT_EQ(x.n_units(), 3);
  for (std::size_t i = 0; i < row.size(); ++i) {
    const float value = x.scales()[i / 32] * static_cast<float>(256 * x.high()[i] + x.low()[i]);
    EXPECT_NEAR(value, row[i], x.scales()[i / 32] * 0.51F);
    EXPECT_LE(x.scales()[i / 32], 4.0F / 32000);
  }
}

TEST(PackedRow, ZerosStayZeroAndOtherRowsCanFollow) {
  PackedRow x;
  x.set(std::vector<float>(64, 0.0F));
  EXPECT_EQ(x.scales()[0], 0.0F);
  EXPECT_EQ(x.high()[0], 0);
  x.set(std::vector<float>(32, 2.0F));
  EXPECT_EQ(x.n_units(), 1);
  EXPECT_FLOAT_EQ(x.scales()[0] * static_cast<float>(256 * x.high()[31] + x.low()[31]), 2.0F);
}

TEST(PackedRow, WhatIsNotFiniteShowsInEveryProduct) {
  std::mt19937 random(12);
  const RandomTensor weights(TensorType::kQ4_1, 64, 16, random);
  const Packed packed(weights.tensor);
  for (const float bad : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    std::vector<float> row(64, 1.0F);
    row[3] = bad;
    PackedRow x;
    x.set(row);
    std::vector<float> y(16);
    packed.matrix.multiply(x, 0, 1, y.data());
    for (const float value : y) EXPECT_TRUE(std::isnan(value));
  }
}

}  // namespace
}  // namespace kvboost::engine
