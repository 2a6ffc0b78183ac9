// SPDX-License-Identifier: Apache-2.0
// What reuse of stored blocks saves, and what it costs in exactness: prompts over files of a real repository
// in shuffled order, each read in full and by each way of reuse. One thread (the engine's).
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "base/error.h"
#include "bench/engine_bench.h"

namespace kvboost::bench {

struct ReuseBench {
  EngineBench common{};  // model, threads, compute; `text` is the repository
  std::int32_t prompts = 12;
  std::int32_t files = 8;      // in a prompt
  std::int32_t tokens = 6500;  // of a prompt, about
  std::uint32_t seed = 1;
  std::vector<std::string> policies{};  // names, as in repair_policy.h
};

struct ReuseFigures {
  std::string policy;  // "full" for the full read
  std::int32_t prompts = 0;
  double tokens = 0;  // means of a prompt
  double tokens_computed = 0;
  double ttft_ms_p50 = 0;
  double ttft_ms_p95 = 0;
  double load_ms = 0, select_ms = 0, prefill_ms = 0;  // medians
  double ratio_to_full = 0;                           // of the medians, full : this
  double kl_mean = 0;                                 // of the first token, in nats
  double kl_worst = 0;
  double top1_agreement = 0;
  double choice_agreement = 0;  // of the letters of a question with four answers
  double doubtful = 0;          // share of prompts whose two likeliest tokens are closer than 0.05
};

[[nodiscard]] Result<std::vector<ReuseFigures>> run_reuse_bench(const ReuseBench& bench);

void print_reuse_table(std::ostream& out, const std::vector<ReuseFigures>& figures);
void print_reuse_json(std::ostream& out, const std::vector<ReuseFigures>& figures);

}  // namespace kvboost::bench
