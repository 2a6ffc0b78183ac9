// SPDX-License-Identifier: Apache-2.0
// BugSet: reports with the files that their fixes changed, and where the trees are that the reports are
// about. Read from JSON Lines in one of two forms (bench/README.md), or mined from a repository
// (bug_mining.h). Plain values, one thread.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace kvboost::bench {

struct BugCase {
  std::string id;
  std::string kind;  // "issue", written before the fix, or "commit-message", written after it
  std::string repository;
  std::string tree;    // a folder beneath the trees', or the name of a git repository there
  std::string commit;  // of that repository; empty: the folder as it is
  std::string report;
  std::vector<std::string> changed_files{};
  std::map<std::string, std::vector<std::string>> distractors{};  // by kind, best first
  bool names_file = false;  // the report has a changed file's name, or its path
};

struct BugSet {
  std::string name;
  std::vector<BugCase> cases;
  /// By tree: the files that may be named, where the set says so.
  std::map<std::string, std::set<std::string>> candidates{};
};

/// A `candidates.json` beside the file is read too. kInvalidArgument with the line that is wrong.
[[nodiscard]] Result<BugSet> read_bug_set(const std::filesystem::path& file);

/// Whether the report holds the last part of one of the paths, or that without its extension as a word with
/// '_', '-' or a capital in it: a mere "utils" names nothing.
[[nodiscard]] bool names_any(std::string_view report, const std::vector<std::string>& paths);

/// At most `limit` cases (0: all), in an order that depends on the seed and nothing else.
void shuffle_cases(BugSet& set, std::size_t seed, std::size_t limit);

}  // namespace kvboost::bench
