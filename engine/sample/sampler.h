// SPDX-License-Identifier: Apache-2.0
// Sampler: one token out of logits. Greedy at temperature 0, else: scale by temperature, keep the top_k
// likeliest, of these the fewest that hold top_p of the weight, of these the ones with at least min_p of the
// likeliest's weight; draw. Belongs to one generation, one thread. The same seed and logits give the same
// tokens.
#pragma once

#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include "base/error.h"
#include "engine/engine.h"

namespace kvboost::engine {

/// kInvalidArgument, naming the parameter and its range.
[[nodiscard]] Result<void> check(const SamplingParams& params);

class Sampler {
 public:
  /// `params` has passed `check`.
  explicit Sampler(const SamplingParams& params) : params_(params), random_(params.seed) {}

  /// kModel if the logits are not numbers.
  [[nodiscard]] Result<TokenId> pick(std::span<const float> logits);

 private:
  struct Candidate {
    TokenId token;
    float weight;  // relative to the likeliest, which has 1
  };
  [[nodiscard]] TokenId draw(std::span<const float> logits, float largest);

  SamplingParams params_;
  std::mt19937_64 random_;
  std::vector<Candidate> candidates_;
};

}  // namespace kvboost::engine
