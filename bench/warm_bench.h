// SPDX-License-Identifier: Apache-2.0
// How much of the engine's speed warming a repository keeps: the groups of its files are read as `kvboost
// warm` does it, stored on disk, and beside that by the engine alone, with nothing kept. One thread (the
// engine's), and the store's.
#pragma once

#include <cstdint>
#include <filesystem>
#include <ostream>

#include "base/error.h"
#include "bench/engine_bench.h"

namespace kvboost::bench {

struct WarmBench {
  EngineBench common;
  std::filesystem::path repository;
  std::filesystem::path directory;  // a folder of its own is made in it, and removed
  std::int64_t tokens = 30'000;     // of files, at least, if the repository has so many
};

struct WarmSpeed {
  std::int64_t files = 0;
  std::int64_t groups = 0;
  std::int64_t tokens = 0;        // of openings and chunks; the header is computed once, before
  std::uint64_t bytes = 0;        // stored
  double warm_tokens_per_s = 0;   // until all is on disk
  double alone_tokens_per_s = 0;  // the engine, reading the same groups behind the same header
};

[[nodiscard]] Result<WarmSpeed> run_warm_bench(const WarmBench& bench);

void print_warm_speed(std::ostream& out, const WarmSpeed& speed, bool json);

}  // namespace kvboost::bench
