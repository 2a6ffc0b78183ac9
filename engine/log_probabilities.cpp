// SPDX-License-Identifier: Apache-2.0
#include "engine/log_probabilities.h"

#include <algorithm>
#include <cmath>

namespace kvboost::engine {

LogProbabilities log_softmax(std::span<const float> logits) {
  const double largest = std::ranges::max(logits);
  double sum = 0;
  for (const float logit : logits) sum += std::exp(logit - largest);
  LogProbabilities result;
  result.reserve(logits.size());
  for (const float logit : logits) result.push_back(logit - largest - std::log(sum));
  return result;
}

double divergence(const LogProbabilities& from, const LogProbabilities& to) {
  double kl = 0;
  for (std::size_t i = 0; i < from.size(); ++i) kl += std::exp(from[i]) * (from[i] - to[i]);
  return kl;
}

std::size_t likeliest(const LogProbabilities& of) {
  return static_cast<std::size_t>(std::ranges::max_element(of) - of.begin());
}

}  // namespace kvboost::engine
