// SPDX-License-Identifier: Apache-2.0
// Whether the cache ever costs time: prompts of several lengths, whose blocks are stored (hit), are not
// (miss), or are not looked for (off), from memory and from disk. One thread (the engine's).
#pragma once

#include <cstdint>
#include <filesystem>
#include <ostream>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "bench/engine_bench.h"

namespace kvboost::bench {

struct HitBench {
  EngineBench common{};               // model, threads, compute, text, runs
  std::filesystem::path directory{};  // where blocks are stored on disk, in a folder that goes at the end
  std::vector<std::int32_t> lengths{128, 256, 512, 1024, 2048, 4096, 8000};  // tokens of a prompt, about
};

/// Medians of a length, in ms to the first token.
struct HitTimes {
  std::int32_t tokens = 0;
  double off = 0;
  double ram_hit = 0, ram_miss = 0;
  double disk_hit = 0, disk_miss = 0;  // after a restart, page cache warm
  [[nodiscard]] bool hit_is_slower() const { return ram_hit > off || disk_hit > off; }
};

[[nodiscard]] Result<std::vector<HitTimes>> run_hit_bench(const HitBench& bench);

/// With a line that says whether a hit was slower than no cache anywhere.
void print_hit_table(std::ostream& out, std::span<const HitTimes> times);
void print_hit_json(std::ostream& out, std::span<const HitTimes> times);

}  // namespace kvboost::bench
