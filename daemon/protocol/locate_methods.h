// SPDX-License-Identifier: Apache-2.0
// The method locate. Part of methods.h, which is what to include: the JSON forms are declared there.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace kvboost::protocol {

struct LocateParams {
  std::string directory;           // absolute: where the user stands
  std::string report;              // the bug report
  std::vector<std::string> paths;  // only these files and directories; empty: the whole work tree
  std::int32_t top = 10;           // most files of the result
  std::int32_t functions = 3;      // most functions of a file
  bool all_files = false;          // true: tests, documents and generated files may be named too
  bool model = true;               // false: by words alone
  bool reuse = true;               // false: nothing stored is used, and nothing is stored
  std::int32_t read_files = 20;    // most files that the model reads
  double budget_s = 0;             // seconds after which the model reads no more; 0: no limit
};
/// Notification locate/progress.
struct LocateProgress {
  std::string stage;  // "reading" "loading" "queued" "scoring"
  std::int64_t done = 0;
  std::int64_t total = 0;
};
struct LocateFunction {
  std::string name;
  std::int32_t first_line = 0;
  std::int32_t last_line = 0;
};
struct LocateScore {
  std::string ranker;
  double score = 0;
};
struct LocateFile {
  std::string path;
  std::int32_t line = 1;                  // where to look first
  std::string text;                       // of that line
  double score = 0;                       // of all rankers together: comparable within one result only
  std::vector<LocateScore> scores;        // each ranker's own
  std::vector<LocateFunction> functions;  // the likeliest first
};
/// Notification locate/ranking: what is known so far.
struct LocateRanking {
  std::string ranker;  // that came last: "words" "model"
  std::vector<LocateFile> files;
};
struct LocateTimings {
  double refresh_ms = 0;
  double words_ms = 0;
  double queue_ms = 0;  // waiting for the model to be loaded
  double model_ms = 0;
  double total_ms = 0;  // from the request's last byte read
};
struct LocateResult {
  std::string root;                // the work tree
  std::string note;                // one line about the work tree, or empty
  std::string incomplete;          // why the model did not read all that it was to read, or empty
  std::string model;               // its name; empty: by words alone
  std::vector<LocateFile> files;   // the likeliest first
  std::int64_t candidates = 0;     // files with any of the report's words
  std::int64_t model_files = 0;    // that the model read
  std::int64_t placed_tokens = 0;  // of these, from stored blocks
  std::int64_t computed_tokens = 0;
  std::int64_t report_read = 0;    // the report's first tokens, those that the model reads
  std::int64_t report_tokens = 0;  // the report's tokens
  LocateTimings timings;
};

}  // namespace kvboost::protocol
