// SPDX-License-Identifier: Apache-2.0
#include "cache/rank/fusion.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace kvboost::cache {
namespace {

constexpr FusionWeight kWeights[] = {
#include "cache/rank/fusion_weights.inc"
};

/// Adds one ranker's part to `sums`; it has a score at least.
void add_column(const ScoreColumn& column, const std::vector<bool>& common, std::vector<double>& sums) {
  double n = 0, sum = 0, squares = 0;
  double worst = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const auto& score = column.scores[i];
    if (!score) continue;
    worst = std::min(worst, *score);
    if (!common[i]) continue;
    n += 1;
    sum += *score;
    squares += *score * *score;
  }
  const double mean = n > 0 ? sum / n : worst;
  const double variance = n > 0 ? squares / n - mean * mean : 0;
  const double scale = variance > 1e-12 ? column.weight / std::sqrt(variance) : 0;
  for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += scale * (column.scores[i].value_or(worst) - mean);
}

}  // namespace

std::vector<double> fuse(std::span<const ScoreColumn> columns) {
  if (columns.empty()) return {};
  const auto has_score = [](const auto& score) { return score.has_value(); };
  std::vector<const ScoreColumn*> telling;
  for (const ScoreColumn& column : columns) {
    if (std::ranges::any_of(column.scores, has_score)) telling.push_back(&column);
  }
  const std::size_t n = columns.front().scores.size();
  std::vector<bool> common(n);
  for (std::size_t i = 0; i < n; ++i)
    common[i] = std::ranges::all_of(telling, [i](const ScoreColumn* c) { return c->scores[i].has_value(); });
  std::vector<double> sums(n);
  for (const ScoreColumn* column : telling) add_column(*column, common, sums);
  return sums;
}

std::span<const FusionWeight> fusion_weights() {
  return kWeights;
}

double fusion_weight(std::string_view ranker) {
  const auto found = std::ranges::find(kWeights, ranker, &FusionWeight::ranker);
  return found == std::end(kWeights) ? 1 : found->weight;
}

}  // namespace kvboost::cache
