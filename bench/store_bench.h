// SPDX-License-Identifier: Apache-2.0
// How fast blocks come back: from the memory tier, from the disk tier with its file in the page cache and
// with it out of it, by codec; decode included. Beside each the plain copy or file read of the same bytes,
// which no store can beat. One thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <ostream>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "cache/codec/block_codec.h"

namespace kvboost::bench {

struct StoreBench {
  cache::BlockShape shape;  // of each block
  std::int32_t blocks = 48;
  std::int32_t runs = 5;            // the median counts
  std::filesystem::path directory;  // a folder of its own is made in it, and removed
};

struct LoadSpeed {
  std::string from;  // "memory", "disk, cached", "disk, cold"
  cache::Codec codec = cache::Codec::kBf16;
  std::uint64_t bytes = 0;  // of the records read in a run
  std::int64_t tokens = 0;
  double gb_per_s = 0;        // of records read, checked and decoded; 10^9 bytes
  double plain_gb_per_s = 0;  // memcpy (memory), or read of a plain file (disk), of the same bytes
};

using LoadSpeedSink = std::function<void(const LoadSpeed&)>;

[[nodiscard]] Result<void> run_store_bench(const StoreBench& bench, const LoadSpeedSink& sink);

void print_load_json(std::ostream& out, const LoadSpeed& speed);
void print_load_table(std::ostream& out, std::span<const LoadSpeed> speeds);

}  // namespace kvboost::bench
