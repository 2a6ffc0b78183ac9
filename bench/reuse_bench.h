// SPDX-License-Identifier: Apache-2.0
// What reuse of stored blocks saves, and what it costs in exactness: prompts over files of a real repository
// in shuffled order, each read in full and by each way of reuse; and the same requests by a peer. Every block
// was computed as the warmer does it, behind the header (and neighbours) and its own file's beginning, so in
// these prompts all but the first file stand behind other text than their blocks did. Of several questions to
// the same files in the same order the first has its full read timed; the others' full read goes on from
// there, and counts as long. One thread (the engine's).
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "base/error.h"
#include "bench/engine_bench.h"
#include "bench/reuse_figures.h"
#include "bench/reuse_prompts.h"
#include "bench/stored_blocks.h"
#include "cache/codec/block_codec.h"

namespace kvboost::bench {

struct ReuseBench {
  EngineBench common{};                // model, threads, compute, peer
  std::filesystem::path repository{};  // whose files the prompts are made of
  std::filesystem::path directory{};   // where blocks are stored on disk, in a folder that goes at the end
  std::int32_t prompts = 12;           // sets of files
  std::int32_t questions = 1;          // to each set in its shuffled order
  std::int32_t files = 8;              // in a prompt
  std::int32_t tokens = 6500;          // of a prompt, about
  bool neighbours = false;             // blocks are computed behind the repository's (neighbour_run.h)
  double tolerance = 0.02;             // of policy "auto": nats
  std::uint32_t seed = 1;
  std::int32_t greedy = 32;             // tokens of the answer that are compared; 0: none
  std::vector<std::string> policies{};  // names, as in repair_policy.h
  std::vector<cache::Codec> codecs{cache::Codec::kBf16, cache::Codec::kInt8, cache::Codec::kInt4};
  std::vector<Tier> tiers{Tier::kRam, Tier::kDisk, Tier::kCold};
  std::vector<Scenario> scenarios{Scenario::kShuffled};
};

/// Gets each outcome as it is known.
using OutcomeSink = std::function<void(const ReuseRow& row, const ReuseOutcome& outcome)>;

/// Fails when blocks were not reused where they should have been. Progress goes to stderr.
[[nodiscard]] Result<std::vector<ReuseFigures>> run_reuse_bench(const ReuseBench& bench,
                                                                const OutcomeSink& sink = {});

}  // namespace kvboost::bench
