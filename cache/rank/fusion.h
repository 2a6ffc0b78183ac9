// SPDX-License-Identifier: Apache-2.0
// Several rankings made one: each ranker's scores brought to mean 0 and deviation 1 over what all rankers
// looked at, then added with weights. Pure functions, any thread.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace kvboost::cache {

struct ScoreColumn {
  double weight = 1;
  std::vector<std::optional<double>> scores{};  // one an item; none: this ranker did not look at it
};

/// What one ranker says of items that keep their scores by ranker, in `scores`.
template <class Items>
[[nodiscard]] ScoreColumn column_of(const Items& items, std::string_view ranker, double weight) {
  ScoreColumn column{weight};
  for (const auto& item : items) {
    const auto found = item.scores.find(ranker);
    column.scores.push_back(found == item.scores.end() ? std::nullopt : std::optional(found->second));
  }
  return column;
}

/// One score an item. Columns have equal length; one without any score changes nothing. What a ranker did not
/// look at counts as the worst that it saw: it may not rise by having been left out.
[[nodiscard]] std::vector<double> fuse(std::span<const ScoreColumn> columns);

/// How much each ranker counts, where it was fitted and when.
struct FusionWeight {
  std::string_view ranker;
  double weight = 1;
  std::string_view fitted;  // date, set and model; empty: a guess
};
[[nodiscard]] std::span<const FusionWeight> fusion_weights();

/// Of a ranker without a row: 1.
[[nodiscard]] double fusion_weight(std::string_view ranker);

}  // namespace kvboost::cache
