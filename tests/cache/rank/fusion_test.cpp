// SPDX-License-Identifier: Apache-2.0
#include "cache/rank/fusion.h"

#include <gtest/gtest.h>

#include "cache/rank/bm25.h"
#include "cache/rank/fixable.h"

namespace kvboost::cache {
namespace {

TEST(Fusion, AddsWhatEachRankerSaysOnTheSameScale) {
  const std::vector<ScoreColumn> columns = {{1, {300.0, 200.0, 100.0}}, {1, {-2.0, -2.5, -1.0}}};
  const auto fused = fuse(columns);
  ASSERT_EQ(fused.size(), 3U);
  EXPECT_NEAR(fused[0] + fused[1] + fused[2], 0, 1e-9);
  EXPECT_GT(fused[0], fused[2]);
  EXPECT_GT(fused[2], fused[1]);
}

TEST(Fusion, AWeightOfNothingChangesNothing) {
  const auto fused = fuse(std::vector<ScoreColumn>{{1, {3.0, 2.0, 1.0}}, {0, {1.0, 2.0, 300.0}}});
  EXPECT_GT(fused[0], fused[1]);
  EXPECT_GT(fused[1], fused[2]);
}

TEST(Fusion, WhatARankerDidNotLookAtCountsAsItsWorst) {
  const auto fused = fuse(std::vector<ScoreColumn>{{1, {3.0, 2.0, 1.9}}, {1, {1.0, 2.0, std::nullopt}}});
  EXPECT_GT(fused[1], fused[2]);
  EXPECT_GT(fused[0], fused[2]) << "the worst of the model's, and less by words";
}

TEST(Fusion, EqualScoresAndNoneAtAllAreNoTrouble) {
  EXPECT_TRUE(fuse({}).empty());
  const auto fused = fuse(std::vector<ScoreColumn>{{1, {1.0, 1.0}}, {1, {std::nullopt, std::nullopt}}});
  EXPECT_EQ(fused, (std::vector<double>{0, 0}));
}

TEST(Fusion, ARankerThatLookedAtNothingChangesNothing) {
  const ScoreColumn words{1, {3.0, 2.0, 2.5}}, none{1, {std::nullopt, std::nullopt, std::nullopt}};
  EXPECT_EQ(fuse(std::vector{words, none}), fuse(std::vector{words}));
}

TEST(Fusion, EachRankerHasOneWeight) {
  for (const FusionWeight& row : fusion_weights()) EXPECT_EQ(fusion_weight(row.ranker), row.weight);
  EXPECT_EQ(fusion_weight("one that is not there"), 1);
}

TEST(Fixable, IsTheProjectsOwnCode) {
  for (const char* path :
       {"main.c", "src/a.cpp", "lib/Test.java", "latest/x.py", "contest.go", "cmd/spec.rs"})
    EXPECT_TRUE(is_fixable(path)) << path;
  for (const char* path :
       {"README.md", "test/a.c", "src/Tests/a.cs", "a_test.go", "test_a.py", "conftest.py", "vendor/x/y.go",
        "docs/conf.py", "x.min.js", "api_pb2.py", "LICENSE", "a.spec.ts", ""})
    EXPECT_FALSE(is_fixable(path)) << path;
}

TEST(WeightedQuery, AWordCountsAsManyTimesAsItsPartSays) {
  Bm25Index index;
  index.add(0, "a", "alpha filler");
  index.add(1, "b", "beta filler");
  const std::vector<QueryPart> parts = {{"alpha beta"}, {"beta", 2}};
  const auto ranked = index.query(parts, 10);
  ASSERT_EQ(ranked.size(), 2U);
  EXPECT_EQ(ranked[0].id, 1U);
  const auto written_out = index.query("alpha beta beta beta", 10);
  EXPECT_DOUBLE_EQ(ranked[0].score, written_out[0].score);
  EXPECT_DOUBLE_EQ(ranked[1].score, written_out[1].score);
}

}  // namespace
}  // namespace kvboost::cache
