// SPDX-License-Identifier: Apache-2.0
// The built-in files and questions on which a model's reuse is tried (reuse_trial.h). Constants, any thread.
#pragma once

#include <span>
#include <string_view>

namespace kvboost::daemon {

struct ReuseSample {
  std::string_view path;
  std::string_view text;
};

/// Small files of different kinds, of 150 to 400 tokens each.
[[nodiscard]] std::span<const ReuseSample> reuse_samples();

/// More of the same repository: what the others' blocks are computed behind, and what no question is about.
[[nodiscard]] std::span<const ReuseSample> reuse_neighbours();

/// What is asked about some of them.
[[nodiscard]] std::span<const std::string_view> reuse_questions();

/// Changes when samples or questions do: what was measured on others counts no more.
inline constexpr int kReuseSamplesVersion = 2;

}  // namespace kvboost::daemon
