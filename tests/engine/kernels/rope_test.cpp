// SPDX-License-Identifier: Apache-2.0
#include "engine/kernels/rope.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace kvboost::engine {
namespace {

RopeSpec spec(const char* scaling = "none") {
  RopeSpec rope;
  rope.base = 10000.0;
  rope.n_rotated = 64;
  rope.scaling = scaling;
  rope.factor = 4.0;
  rope.original_context = 2048;
  return rope;
}

double angle(const RopeAngles& angles, std::size_t i) {
  return std::atan2(angles.sine[i], angles.cosine[i]);
}

TEST(Rope, PlainFrequencies) {
  const Rope rope(spec());
  const std::vector<std::int32_t> positions{0, 1, 3};
  const auto angles = rope.angles(positions);
  ASSERT_EQ(angles.cosine.size(), 3U * 32);
  EXPECT_EQ(angles.cosine[0], 1.0F);
  EXPECT_EQ(angles.sine[31], 0.0F);
  for (std::size_t i = 0; i < 32; ++i) {
    EXPECT_NEAR(angle(angles, 32 + i), std::pow(10000.0, -2.0 * static_cast<double>(i) / 64), 1e-6);
    EXPECT_NEAR(angles.sine[64 + i], std::sin(3 * std::pow(10000.0, -2.0 * static_cast<double>(i) / 64)),
                1e-6);
  }
}

TEST(Rope, LinearScalingDividesPositions) {
  const std::vector<std::int32_t> eight{8}, two{2};
  const auto scaled = Rope(spec("linear")).angles(eight);
  const auto plain = Rope(spec()).angles(two);
  for (std::size_t i = 0; i < 32; ++i) EXPECT_NEAR(scaled.sine[i], plain.sine[i], 1e-6);
}

TEST(Rope, FrequencyFactorsDivide) {
  RopeSpec factors = spec();
  factors.frequency_factors.assign(32, 1.0F);
  factors.frequency_factors[31] = 8.0F;
  const std::vector<std::int32_t> one{1};
  const auto angles = Rope(factors).angles(one);
  const auto plain = Rope(spec()).angles(one);
  EXPECT_EQ(angles.sine[30], plain.sine[30]);
  EXPECT_NEAR(angle(angles, 31), angle(plain, 31) / 8, 1e-8);
}

TEST(Rope, YarnKeepsFastPairsSqueezesSlowOnesAndScalesAll) {
  const std::vector<std::int32_t> one{1};
  const auto yarn = Rope(spec("yarn")).angles(one);
  const auto plain = Rope(spec()).angles(one);
  const double magnitude = 1 + 0.1 * std::log(4.0);
  EXPECT_NEAR(std::hypot(yarn.sine[5], yarn.cosine[5]), magnitude, 1e-6);
  EXPECT_NEAR(angle(yarn, 0), angle(plain, 0), 1e-6);        // turns often: kept
  EXPECT_NEAR(angle(yarn, 31), angle(plain, 31) / 4, 1e-8);  // hardly turns: interpolated
  // Pair 18 of the published formula, base 10000, 64 dimensions, trained on 2048, beta 32 and 1: low = 8,
  // high = 21.
  const double mix = 1 - (18.0 - 8) / (21 - 8);
  EXPECT_NEAR(angle(yarn, 18), angle(plain, 18) * (mix + (1 - mix) / 4), 1e-7);
}

}  // namespace
}  // namespace kvboost::engine
