// SPDX-License-Identifier: Apache-2.0
#include "daemon/pipeline/repair_policy.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <utility>
#include <vector>

namespace kvboost::daemon {
namespace {

using Cells = std::vector<std::int32_t>;

const std::vector<ChangedRun> kChanged{{10, 4}, {20, 6}};

std::vector<float> by_cell(std::initializer_list<std::pair<std::int32_t, float>> scored) {
  std::vector<float> of_cell(30);
  for (const auto& [cell, score] : scored) of_cell[cell] = score;
  return of_cell;
}

// Cell 5 is not changed: never repaired.
const std::vector<float> kAttention = by_cell({{5, 9}, {23, 3}, {13, 2}, {20, 1}});
const std::vector<float> kDeviation = by_cell({{11, 5}, {23, 4}, {25, 3}});

CellScores scores() {
  return {kAttention, kDeviation};
}

TEST(CellsToRepair, NoneForNothing) {
  EXPECT_TRUE(cells_to_repair({}, kChanged, scores()).empty());
  EXPECT_TRUE(cells_to_repair({.seam = 8, .guided = 0.5F}, {}, scores()).empty());
}

TEST(CellsToRepair, TheSeamOfEachRun) {
  EXPECT_EQ(cells_to_repair({.seam = 2}, kChanged, {}), (Cells{10, 11, 20, 21}));
  EXPECT_EQ(cells_to_repair({.seam = 5}, kChanged, {}), (Cells{10, 11, 12, 13, 20, 21, 22, 23, 24}));
}

TEST(CellsToRepair, WhatTheQuestionAttendsToMost) {
  EXPECT_EQ(cells_to_repair({.guided = 0.2F}, kChanged, scores()), (Cells{13, 23}));
  EXPECT_EQ(cells_to_repair({.guided = 0.21F}, kChanged, scores()), (Cells{13, 20, 23}));
  EXPECT_EQ(cells_to_repair({.guided = 1}, kChanged, scores()).size(), 10U);
}

TEST(CellsToRepair, WhatIsFarthestOff) {
  EXPECT_EQ(cells_to_repair({.blend = 0.2F}, kChanged, scores()), (Cells{11, 23}));
  EXPECT_EQ(cells_to_repair({.blend = 0.3F}, kChanged, scores()), (Cells{11, 23, 25}));
  EXPECT_EQ(cells_to_repair({.blend = 1}, kChanged, scores()).size(), 10U);
}

TEST(CellsToRepair, UnionsTakeEachCellOnce) {
  EXPECT_EQ(cells_to_repair({.guided = 0.2F, .blend = 0.2F}, kChanged, scores()), (Cells{11, 13, 23}));
  EXPECT_EQ(cells_to_repair({.guided = 1, .blend = 1}, kChanged, scores()).size(), 10U);
  EXPECT_EQ(cells_to_repair({.seam = 1, .guided = 0.2F}, kChanged, scores()), (Cells{10, 13, 20, 23}));
  EXPECT_EQ(cells_to_repair({.seam = 9, .guided = 1}, kChanged, scores()).size(), 10U);
}

TEST(RepairPolicyName, SaysWhatIsRepaired) {
  const auto parsed = [](std::string_view name) { return parse_repair_policy(name).value(); };
  EXPECT_EQ(parsed("exact"), std::nullopt);
  EXPECT_EQ(parsed("none"), RepairPolicy{});
  EXPECT_EQ(parsed("seam:16"), (RepairPolicy{.seam = 16}));
  EXPECT_EQ(parsed("guided:0.08"), (RepairPolicy{.guided = 0.08F}));
  EXPECT_EQ(parsed("guided:1:0.2-0.5"), (RepairPolicy{.guided = 1, .first_layer = 0.2F, .end_layer = 0.5F}));
  EXPECT_EQ(parsed("blend:0.15"), (RepairPolicy{.blend = 0.15F}));
  EXPECT_EQ(parsed("blend:0.15:cosine"), (RepairPolicy{.blend = 0.15F, .cosine = true}));
  EXPECT_EQ(parsed("seam:8+guided:0.08"), (RepairPolicy{.seam = 8, .guided = 0.08F}));
}

TEST(RepairPolicyName, IsReadBackAsItIsWritten) {
  for (const char* name :
       {"exact", "none", "seam:16", "guided:0.08", "guided:0.08:0.2-0.5", "guided:1:0-0.25",
        "guided:0.08+seam:8", "blend:0.15:cosine", "guided:0.5+blend:0.15+seam:8"}) {
    EXPECT_EQ(repair_policy_name(parse_repair_policy(name).value()), name);
  }
}

TEST(RepairPolicyName, AnythingElseIsRefused) {
  for (const char* name : {"",
                           "+",
                           "seam",
                           "seam:",
                           "seam:0",
                           "seam:-1",
                           "seam:16x",
                           "seam:99999999999",
                           "seam:1+",
                           "+seam:1",
                           "seam:1++guided:0.1",
                           "seam:1+seam:2",
                           "none+seam:1",
                           "exact+seam:1",
                           "Seam:1",
                           "guided:0",
                           "guided:1.1",
                           "guided:nan",
                           "guided:-0.1",
                           "guided:0.1:",
                           "guided:0.1:0.5",
                           "guided:0.1:0.5-0.5",
                           "guided:0.1:0-1.5",
                           "guided:0.1:-0.1-1",
                           "guided:0.1:0-1:2",
                           "guided:0.1+guided:0.2",
                           "blend:0",
                           "blend:2",
                           "blend:0.1:sine",
                           "blend:0.1+blend:0.1:cosine",
                           "seam: 1"}) {
    const auto refused = parse_repair_policy(name);
    ASSERT_FALSE(refused.has_value()) << name;
    EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument);
    EXPECT_FALSE(refused.error().remedy.empty());
  }
}

}  // namespace
}  // namespace kvboost::daemon
