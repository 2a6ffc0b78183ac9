// SPDX-License-Identifier: Apache-2.0
// The method search. Part of methods.h, which is what to include: the JSON forms are declared there.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace kvboost::protocol {

struct SearchParams {
  std::string directory;           // absolute: where the user stands
  std::string query;               // words
  std::vector<std::string> paths;  // only these files and directories; empty: the whole work tree
  std::int32_t top = 10;           // most spans of the result
};
/// Notification search/progress.
struct SearchProgress {
  std::string stage;  // "reading"
  std::int64_t done = 0;
  std::int64_t total = 0;
};
struct SearchSpan {
  std::string path;
  std::int32_t first_line = 0;
  std::int32_t last_line = 0;
  double score = 0;  // comparable within one result only
  std::string text;
};
struct SearchResult {
  std::string root;               // the work tree
  std::string note;               // one line about the work tree, or empty
  std::vector<SearchSpan> spans;  // the best first
};

}  // namespace kvboost::protocol
