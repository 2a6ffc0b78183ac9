// SPDX-License-Identifier: Apache-2.0
// RoPE: the frequencies of a model, scaling included, and the angles of given positions. Plain values, any
// thread.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/model_spec.h"

namespace kvboost::engine {

/// cos and sin of each position's angles, times the attention factor that YaRN prescribes.
struct RopeAngles {
  std::vector<float> cosine, sine;  // (n_positions, n_rotated / 2)
};

class Rope {
 public:
  /// `scaling` as in the spec: "none", "linear", "yarn"; anything else is treated as none, so the reader of
  /// the spec refuses what it doesn't know.
  explicit Rope(const RopeSpec& spec);

  [[nodiscard]] RopeAngles angles(std::span<const std::int32_t> positions) const;
  [[nodiscard]] std::int32_t half() const { return static_cast<std::int32_t>(frequencies_.size()); }

 private:
  std::vector<double> frequencies_;  // radians a position
  double magnitude_ = 1.0;
};

}  // namespace kvboost::engine
