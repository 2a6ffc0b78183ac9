// SPDX-License-Identifier: Apache-2.0
#include "daemon/pipeline/locate_run.h"

#include <algorithm>
#include <functional>

#include "cache/rank/fusion.h"

namespace kvboost::daemon {

Result<void> LocateRun::apply(Ranker& ranker) {
  if (job_.stop.stop_requested()) return fail(ErrorCode::kCancelled, "cancelled while ranking files");
  if (auto ranked = ranker.rank(job_, suspects_); !ranked) return ranked;
  rankers_.push_back(ranker.name());
  fuse();
  return {};
}

void LocateRun::fuse() {
  std::vector<cache::ScoreColumn> columns;
  for (const std::string_view ranker : rankers_)
    columns.push_back(cache::column_of(suspects_, ranker, cache::fusion_weight(ranker)));
  const std::vector<double> fused = cache::fuse(columns);
  for (std::size_t i = 0; i < fused.size(); ++i) suspects_[i].score = fused[i];
  // Those equal keep their order.
  std::ranges::stable_sort(suspects_, std::greater(), &Suspect::score);
}

}  // namespace kvboost::daemon
