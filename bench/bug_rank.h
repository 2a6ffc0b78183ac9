// SPDX-License-Identifier: Apache-2.0
// The bug bench's task `rank`: for each report, the daemon's own rankers over the whole tree. What is done is
// kept in a file, so that a stopped run goes on from there. One thread, beside the engine's.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/error.h"
#include "bench/bug_figures.h"
#include "bench/bug_set.h"
#include "bench/engine_bench.h"

namespace kvboost::bench {

struct BugBench {
  EngineBench common;              // model, threads, number format
  std::filesystem::path trees;     // the folder with the set's trees
  std::filesystem::path scratch;   // for trees of commits
  std::filesystem::path progress;  // file that keeps what is done; empty: none
  std::uint64_t seed = 1;
  std::size_t read_files = 20;      // that the model reads for a report
  std::size_t file_tokens = 1'250;  // of each of the four files, in a choice
  bool words_only = false;
  bool warm = true;        // have the model read each report's files twice, for the time it takes then
  bool from_text = false;  // and once more without any stored block, likewise
};

/// Reports whose tree cannot be had are named on stderr and left out; it fails when none is left.
[[nodiscard]] Result<std::vector<BugRanking>> run_bug_rank(const BugBench& bench, const BugSet& set);

}  // namespace kvboost::bench
