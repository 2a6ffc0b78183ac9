// SPDX-License-Identifier: Apache-2.0
// The bug bench's task `choice`: which of four files was changed by the fix? Each prompt is read in full, and
// from stored blocks; the answers and the times to the first token are compared. One thread (the engine's).
#pragma once

#include <cstdint>
#include <optional>
#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "bench/bug_figures.h"
#include "bench/bug_rank.h"
#include "bench/bug_set.h"

namespace kvboost::bench {

/// One question, read in one way.
struct BugChoice {
  std::string id;
  std::string policy;  // "full", or a repair policy
  std::int32_t tokens = 0;
  bool right = false;
  bool agrees = true;  // with the full read
  double ttft_ms = 0;  // the time that counts: warm
  double cold_ms = 0;  // of the first question over these files, nothing stored yet
};

[[nodiscard]] std::string to_line(const std::vector<BugChoice>& choices);
[[nodiscard]] Result<std::vector<BugChoice>> parse_choices(std::string_view line);

/// `policies` as of parse_repair_policy, or "auto": what the daemon takes for this model. Under "exact" the
/// blocks are those of a first, other question over the same files in the same order; under all others each
/// file was read ahead alone, behind its repository's neighbours, as `kvboost warm` does.
[[nodiscard]] Result<std::vector<BugChoice>> run_bug_choice(const BugBench& bench, const BugSet& set,
                                                            const std::vector<std::string>& policies);

struct ChoiceFigures {
  std::string policy;
  std::int32_t cases = 0;
  Estimate accuracy, agreement;
  double mcnemar_p = 1;  // of the difference from the full read's accuracy; two-sided, exact
  double ttft_ms_p50 = 0;
  double ttft_ms_p95 = 0;
  double cold_ms_p50 = 0;
  double ratio_to_full = 0;  // of the medians, full : this
};

/// The full read first.
[[nodiscard]] std::vector<ChoiceFigures> choice_figures(std::span<const BugChoice> choices,
                                                        std::uint64_t seed);

/// The probability of a split at least as uneven as `one` against `other`, were both equally likely.
[[nodiscard]] double mcnemar(std::int32_t one, std::int32_t other);

void print_choice_table(std::ostream& out, std::span<const ChoiceFigures> figures);
void print_choice_json(std::ostream& out, const ChoiceFigures& figures);

}  // namespace kvboost::bench
