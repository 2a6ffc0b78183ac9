// SPDX-License-Identifier: Apache-2.0
#include "engine/sample/sampler.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace kvboost::engine {
namespace {

/// ln of these probabilities.
std::vector<float> logits_of(const std::vector<float>& probabilities) {
  std::vector<float> logits;
  for (const float p : probabilities) logits.push_back(std::log(p) + 3.0F);
  return logits;
}

const std::vector<float> kLogits = logits_of({0.1F, 0.4F, 0.2F, 0.25F, 0.05F});

std::vector<double> frequencies(const SamplingParams& params, const std::vector<float>& logits) {
  constexpr int kDraws = 20000;
  Sampler sampler(params);
  std::vector<double> share(logits.size());
  for (int i = 0; i < kDraws; ++i) share[sampler.pick(logits).value()] += 1.0 / kDraws;
  return share;
}

TEST(Sampler, GreedyTakesTheLargestAndTheLowestIdOfEquals) {
  Sampler sampler({});
  EXPECT_EQ(sampler.pick(kLogits).value(), 1);
  EXPECT_EQ(sampler.pick(std::vector<float>{1.0F, 2.0F, 2.0F}).value(), 1);
}

TEST(Sampler, DrawsByProbability) {
  const auto share = frequencies({.temperature = 1.0F, .seed = 5}, kLogits);
  const double expected[] = {0.1, 0.4, 0.2, 0.25, 0.05};
  for (int i = 0; i < 5; ++i) EXPECT_NEAR(share[i], expected[i], 0.015);
}

TEST(Sampler, TemperatureSharpensAndFlattens) {
  const auto sharp = frequencies({.temperature = 0.5F, .seed = 5}, kLogits);
  EXPECT_NEAR(sharp[1], 0.16 / (0.01 + 0.16 + 0.04 + 0.0625 + 0.0025), 0.015);
  const auto flat = frequencies({.temperature = 50.0F, .seed = 5}, kLogits);
  EXPECT_NEAR(flat[4], 0.2, 0.02);
}

TEST(Sampler, TopKKeepsTheLikeliest) {
  const auto share = frequencies({.temperature = 1.0F, .top_k = 2, .seed = 5}, kLogits);
  EXPECT_NEAR(share[1], 0.4 / 0.65, 0.015);
  EXPECT_NEAR(share[3], 0.25 / 0.65, 0.015);
  EXPECT_EQ(share[0] + share[2] + share[4], 0.0);
}

TEST(Sampler, TopPKeepsTheFewestThatHoldIt) {
  const auto share = frequencies({.temperature = 1.0F, .top_p = 0.7F, .seed = 5}, kLogits);
  EXPECT_EQ(share[0] + share[4], 0.0);
  EXPECT_NEAR(share[2], 0.2 / 0.85, 0.015);
}

TEST(Sampler, MinPDropsTheMuchLessLikely) {
  const auto share = frequencies({.temperature = 1.0F, .min_p = 0.45F, .seed = 5}, kLogits);
  EXPECT_EQ(share[0] + share[4], 0.0);
  EXPECT_GT(share[2], 0.2);
}

TEST(Sampler, ASeedFixesTheDraws) {
  const SamplingParams params{.temperature = 1.0F, .seed = 11};
  Sampler one(params), same(params), other({.temperature = 1.0F, .seed = 12});
  int differences = 0;
  for (int i = 0; i < 100; ++i) {
    const auto token = one.pick(kLogits).value();
    EXPECT_EQ(token, same.pick(kLogits).value());
    if (token != other.pick(kLogits).value()) ++differences;
  }
  EXPECT_GT(differences, 10);
}

TEST(Sampler, WhatIsNoNumberIsAnError) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinite = std::numeric_limits<float>::infinity();
  for (const float temperature : {0.0F, 1.0F}) {
    for (const auto& bad :
         {std::vector<float>{1.0F, nan}, {nan, nan}, {infinite, 0.0F}, {-infinite, -infinite}, {}}) {
      Sampler sampler({.temperature = temperature});
      const auto token = sampler.pick(bad);
      ASSERT_FALSE(token.has_value());
      EXPECT_EQ(token.error().code, ErrorCode::kModel);
    }
  }
  Sampler sampler({.temperature = 1.0F});
  EXPECT_EQ(sampler.pick(std::vector<float>{-infinite, 2.0F}).value(), 1);
}

TEST(Sampler, RefusesSenselessParameters) {
  EXPECT_TRUE(check({}).has_value());
  EXPECT_TRUE(check({.temperature = 0.8F, .top_k = 40, .top_p = 0.9F, .min_p = 0.05F}).has_value());
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const SamplingParams& bad :
       {SamplingParams{.temperature = -1.0F}, SamplingParams{.temperature = nan}, SamplingParams{.top_k = -1},
        SamplingParams{.top_p = 0.0F}, SamplingParams{.top_p = 1.5F}, SamplingParams{.min_p = 2.0F}}) {
    EXPECT_EQ(check(bad).error().code, ErrorCode::kInvalidArgument);
  }
}

}  // namespace
}  // namespace kvboost::engine
