// SPDX-License-Identifier: Apache-2.0
// Ranker: one way to tell which files a bug report is about. The first one finds candidates, each later one
// looks at the best of them and adds a score of its own; a new way is one more class. Rankers are run on a
// worker, one report at a time.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "daemon/prompt/file_ranking.h"
#include "daemon/prompt/report.h"
#include "daemon/prompt/repository.h"

namespace kvboost::daemon {

/// A file that may need the fix.
struct Suspect {
  std::string path;
  std::vector<RankedSpan> spans{};                      // where the report's words are, best first
  std::int32_t named_line = 0;                          // that the report itself names, or 0
  std::map<std::string, double, std::less<>> scores{};  // by ranker; those that did not look at it are absent
  double score = 0;                                     // of all rankers together
};

struct RankJob {
  Repository& repository;  // refreshed
  const Report& report;
  FileFilter wanted{};  // empty: every file
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
  std::stop_token stop{};
  std::function<void(std::int64_t done, std::int64_t total)> progress{};
};

class Ranker {
 public:
  virtual ~Ranker() = default;
  /// Its key in Suspect::scores.
  [[nodiscard]] virtual std::string_view name() const = 0;
  /// `suspects` stand best first, as far as is known. Past the deadline it leaves the rest as they are.
  /// kCancelled when the job is stopped.
  [[nodiscard]] virtual Result<void> rank(const RankJob& job, std::vector<Suspect>& suspects) = 0;
};

}  // namespace kvboost::daemon
