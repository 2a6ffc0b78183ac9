// SPDX-License-Identifier: Apache-2.0
#include "daemon/pipeline/repair_policy.h"

#include <gtest/gtest.h>

namespace kvboost::daemon {
namespace {

using Cells = std::vector<std::int32_t>;

const std::vector<ChangedRun> kChanged{{10, 4}, {20, 6}};

std::vector<float> attention() {
  std::vector<float> of_cell(30);
  of_cell[5] = 9;  // not changed: never repaired
  of_cell[23] = 3;
  of_cell[13] = 2;
  of_cell[20] = 1;
  return of_cell;
}

TEST(CellsToRepair, NoneForNothing) {
  EXPECT_TRUE(cells_to_repair({}, kChanged, attention()).empty());
  EXPECT_TRUE(cells_to_repair({.seam = 8, .guided = 0.5F}, {}, attention()).empty());
}

TEST(CellsToRepair, TheSeamOfEachRun) {
  EXPECT_EQ(cells_to_repair({.seam = 2}, kChanged, {}), (Cells{10, 11, 20, 21}));
  EXPECT_EQ(cells_to_repair({.seam = 5}, kChanged, {}), (Cells{10, 11, 12, 13, 20, 21, 22, 23, 24}));
}

TEST(CellsToRepair, WhatTheQuestionAttendsToMost) {
  EXPECT_EQ(cells_to_repair({.guided = 0.2F}, kChanged, attention()), (Cells{13, 23}));
  EXPECT_EQ(cells_to_repair({.guided = 0.21F}, kChanged, attention()), (Cells{13, 20, 23}));
  EXPECT_EQ(cells_to_repair({.guided = 1}, kChanged, attention()).size(), 10U);
}

TEST(CellsToRepair, UnionsTakeEachCellOnce) {
  EXPECT_EQ(cells_to_repair({.seam = 1, .guided = 0.2F}, kChanged, attention()), (Cells{10, 13, 20, 23}));
  EXPECT_EQ(cells_to_repair({.seam = 9, .guided = 1}, kChanged, attention()).size(), 10U);
}

}  // namespace
}  // namespace kvboost::daemon
