// SPDX-License-Identifier: Apache-2.0
// The frequencies of rotary embedding (Su et al., RoFormer) with linear and YaRN scaling (Peng et al., 2023).
#include "engine/kernels/rope.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace kvboost::engine {
namespace {

/// The dimension pair that turns `rotations` times over the trained context.
double pair_of_rotations(const RopeSpec& spec, double rotations) {
  return spec.n_rotated * std::log(spec.original_context / (rotations * 2 * std::numbers::pi)) /
         (2 * std::log(spec.base));
}

/// How much of pair `i` keeps its frequency (1: fast pairs, untouched; 0: slow ones, interpolated).
double kept_share(const RopeSpec& spec, std::int32_t i) {
  const double low = std::max(0.0, std::floor(pair_of_rotations(spec, spec.yarn_beta_fast)));
  const double high = std::min(spec.n_rotated - 1.0, std::ceil(pair_of_rotations(spec, spec.yarn_beta_slow)));
  return 1.0 - std::clamp((i - low) / std::max(0.001, high - low), 0.0, 1.0);
}

}  // namespace

Rope::Rope(const RopeSpec& spec) {
  const std::int32_t half = spec.n_rotated / 2;
  frequencies_.resize(half);
  const bool yarn = spec.scaling == "yarn";
  const double squeezed = spec.scaling == "linear" || yarn ? 1.0 / spec.factor : 1.0;
  for (std::int32_t i = 0; i < half; ++i) {
    double frequency = std::pow(spec.base, -2.0 * i / spec.n_rotated);
    if (!spec.frequency_factors.empty()) frequency /= spec.frequency_factors[i];
    const double share = yarn ? kept_share(spec, i) * spec.yarn_ext_factor : 0.0;
    frequencies_[i] = frequency * (squeezed * (1.0 - share) + share);
  }
  if (yarn) {
    magnitude_ = spec.yarn_attn_factor;
    if (spec.yarn_ext_factor != 0.0) magnitude_ *= 1.0 + 0.1 * std::log(spec.factor);
  }
}

RopeAngles Rope::angles(std::span<const std::int32_t> positions) const {
  RopeAngles angles;
  angles.cosine.reserve(positions.size() * frequencies_.size());
  angles.sine.reserve(positions.size() * frequencies_.size());
  for (const std::int32_t position : positions) {
    for (const double frequency : frequencies_) {
      const double angle = position * frequency;
      angles.cosine.push_back(static_cast<float>(std::cos(angle) * magnitude_));
      angles.sine.push_back(static_cast<float>(std::sin(angle) * magnitude_));
    }
  }
  return angles;
}

}  // namespace kvboost::engine
