// SPDX-License-Identifier: Apache-2.0
#include "engine/sample/sampler.h"

#include <algorithm>
#include <cmath>

namespace kvboost::engine {

Result<void> check(const SamplingParams& params) {
  const auto refuse = [](const char* what) { return fail(ErrorCode::kInvalidArgument, what); };
  if (!(params.temperature >= 0.0F && params.temperature <= 100.0F))
    return refuse("temperature must lie in 0 to 100");
  if (params.top_k < 0) return refuse("top_k must not be negative");
  if (!(params.top_p > 0.0F && params.top_p <= 1.0F))
    return refuse("top_p must lie above 0 and at most at 1");
  if (!(params.min_p >= 0.0F && params.min_p <= 1.0F)) return refuse("min_p must lie in 0 to 1");
  return {};
}

Result<TokenId> Sampler::pick(std::span<const float> logits) {
  const bool numbers = !logits.empty() && std::ranges::none_of(logits, [](float x) { return std::isnan(x); });
  const auto best = std::ranges::max_element(logits);
  if (!numbers || !std::isfinite(*best)) {
    return fail(ErrorCode::kModel, "the model's output is not a number",
                "the file may be damaged: fetch it again, or choose compute type f32");
  }
  if (params_.temperature == 0.0F) return static_cast<TokenId>(best - logits.begin());
  return draw(logits, *best);
}

TokenId Sampler::draw(std::span<const float> logits, float largest) {
  candidates_.clear();
  for (std::size_t i = 0; i < logits.size(); ++i) {
    const float weight = std::exp((logits[i] - largest) / params_.temperature);
    if (weight >= params_.min_p && weight > 0.0F) candidates_.push_back({static_cast<TokenId>(i), weight});
  }
  // Likeliest first, and the lower id of equals, so that the choice doesn't hang on the library's sort.
  const auto likelier = [](const Candidate& a, const Candidate& b) {
    return a.weight != b.weight ? a.weight > b.weight : a.token < b.token;
  };
  const auto n = candidates_.size();
  const auto top_k = params_.top_k > 0 ? std::min(n, static_cast<std::size_t>(params_.top_k)) : n;
  if (top_k < n) {
    std::ranges::nth_element(candidates_, candidates_.begin() + static_cast<std::ptrdiff_t>(top_k), likelier);
    candidates_.resize(top_k);
  }
  double total = 0.0;
  for (const auto& candidate : candidates_) total += candidate.weight;
  if (params_.top_p < 1.0F) {
    // A heap gives the likeliest one by one: far fewer than all are needed.
    const auto less_likely = [&](const Candidate& a, const Candidate& b) { return likelier(b, a); };
    std::ranges::make_heap(candidates_, less_likely);
    auto rest = candidates_.end();
    double kept = 0.0;
    while (rest != candidates_.begin() && kept < params_.top_p * total) {
      std::ranges::pop_heap(candidates_.begin(), rest, less_likely);
      kept += (--rest)->weight;
    }
    candidates_.erase(candidates_.begin(), rest);
    total = kept;
  }
  constexpr double kUnit = 0x1p-53;
  double left = static_cast<double>(random_() >> 11U) * kUnit * total;
  for (const auto& candidate : candidates_) {
    left -= candidate.weight;
    if (left < 0.0) return candidate.token;
  }
  return candidates_.back().token;
}

}  // namespace kvboost::engine
