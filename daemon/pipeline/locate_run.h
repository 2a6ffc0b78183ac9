// SPDX-License-Identifier: Apache-2.0
// LocateRun: which files a report is about, by one ranker after the other. Their scores are fused after each,
// so that a first answer is there at once and gets better. On a worker.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "daemon/pipeline/ranker.h"

namespace kvboost::daemon {

class LocateRun {
 public:
  explicit LocateRun(RankJob job) : job_(std::move(job)) {}

  /// Has one more ranker look. kCancelled when the job is stopped.
  [[nodiscard]] Result<void> apply(Ranker& ranker);

  /// Best first, by what all rankers so far say together, with their weights (cache/rank/fusion.h).
  [[nodiscard]] const std::vector<Suspect>& suspects() const { return suspects_; }

 private:
  void fuse();

  const RankJob job_;
  std::vector<std::string_view> rankers_;
  std::vector<Suspect> suspects_;
};

}  // namespace kvboost::daemon
