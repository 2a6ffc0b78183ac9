// SPDX-License-Identifier: Apache-2.0
// EachTarget: runs a test with each instruction set that Highway's kernels were compiled for and this CPU
// has.
#pragma once

#include <gtest/gtest.h>
#include <hwy/highway.h>

#include <cstdint>
#include <string>
#include <vector>

namespace kvboost::test {

class EachTarget : public ::testing::TestWithParam<std::int64_t> {
 protected:
  void SetUp() override { hwy::SetSupportedTargetsForTest(GetParam()); }
  void TearDown() override { hwy::SetSupportedTargetsForTest(0); }
};

/// Of the sets that engine/CMakeLists.txt leaves on.
inline std::vector<std::int64_t> targets_here() {
  std::vector<std::int64_t> targets;
  for (const std::int64_t target : {HWY_SSE4, HWY_AVX2, HWY_AVX3}) {
    if ((hwy::SupportedTargets() & target) != 0) targets.push_back(target);
  }
  return targets;
}

inline std::string target_name(const ::testing::TestParamInfo<std::int64_t>& info) {
  return hwy::TargetName(info.param);
}

}  // namespace kvboost::test
