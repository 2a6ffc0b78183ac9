// SPDX-License-Identifier: Apache-2.0
// Figures of the reuse bench: what one prompt read in one way gave, and what many together say; as a table,
// as JSON lines, and as a comparison with the peer. Plain values and pure functions, any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <ostream>
#include <span>
#include <string>
#include <vector>

#include "engine/log_probabilities.h"

namespace kvboost::bench {

/// The likeliest of `ids`, as an index into them.
[[nodiscard]] std::size_t likeliest_of(const engine::LogProbabilities& of, std::span<const std::int32_t> ids);
/// Whether the two likeliest tokens are closer than 0.05 in probability.
[[nodiscard]] bool is_doubtful(const engine::LogProbabilities& of);

/// How prompts were read; a row of the table.
struct ReuseRow {
  std::string scenario;
  std::string policy;  // a repair policy, "full", or "peer"
  std::string codec;   // of the stored blocks; of the live KV where none is used
  std::string tier;    // full, ram, disk, cold, peer
  auto operator<=>(const ReuseRow&) const = default;
};

/// One prompt, read in one way.
struct ReuseOutcome {
  std::int32_t prompt = 0;
  double ttft_ms = 0;
  double full_ttft_ms = 0;  // of the same engine's full read of this prompt
  std::int32_t tokens = 0;
  std::int32_t tokens_reused = 0;
  std::int32_t tokens_repaired = 0;  // of header and files, computed or recomputed
  double kl = 0;
  bool top1 = true;
  std::optional<bool> choice{};        // questions with four answers only
  std::optional<bool> right{};         // as choice: whether it is the true one
  std::optional<bool> greedy_equal{};  // where tokens were generated
  bool doubtful = false;
  double load_ms = 0, select_ms = 0, prefill_ms = 0;
};

struct ReuseFigures {
  ReuseRow row;
  std::int32_t prompts = 0;
  double tokens = 0;  // means of a prompt
  double tokens_repaired = 0;
  double ttft_ms_p50 = 0;
  double ttft_ms_p95 = 0;
  double ratio_to_full = 0;  // of the medians, full : this
  double kl_mean = 0;
  double kl_p95 = 0;
  double top1_agreement = 0;
  std::int32_t choices = 0;  // prompts with four answers
  std::optional<double> choice_agreement{};
  std::optional<double> greedy32_equal{};
  double doubtful = 0;
};

/// `outcomes` is not empty.
[[nodiscard]] ReuseFigures summarise(const ReuseRow& row, std::span<const ReuseOutcome> outcomes);

void print_reuse_table(std::ostream& out, std::span<const ReuseFigures> figures);
/// Scenario by scenario, how much sooner each policy answers than the peer; nothing without a peer.
void print_reuse_against_peer(std::ostream& out, std::span<const ReuseFigures> figures);
void print_reuse_json(std::ostream& out, const ReuseFigures& figures);
void print_outcome_json(std::ostream& out, const ReuseRow& row, const ReuseOutcome& outcome);

}  // namespace kvboost::bench
