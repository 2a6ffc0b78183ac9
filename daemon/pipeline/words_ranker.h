// SPDX-License-Identifier: Apache-2.0
// WordsRanker: finds the files that have the report's words, or that the report names. It needs no model and
// takes milliseconds.
#pragma once

#include "daemon/pipeline/ranker.h"

namespace kvboost::daemon {

class WordsRanker : public Ranker {
 public:
  static constexpr std::string_view kName = "words";
  /// Finds at most so many.
  explicit WordsRanker(std::size_t most) : most_(most) {}

  [[nodiscard]] std::string_view name() const override { return kName; }
  [[nodiscard]] Result<void> rank(const RankJob& job, std::vector<Suspect>& suspects) override;

  /// Files that have any of the report's words or are named, before the limit.
  [[nodiscard]] std::size_t found() const { return found_; }

 private:
  const std::size_t most_;
  std::size_t found_ = 0;
};

}  // namespace kvboost::daemon
