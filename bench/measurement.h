// SPDX-License-Identifier: Apache-2.0
// Measurement: one figure of a benchmark, and how figures are shown: a JSON object a line, or a table that
// sets kvboost beside its peer. Plain values, one thread.
#pragma once

#include <cstdint>
#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace kvboost::bench {

struct Measurement {
  std::string engine = {};  // "kvboost" or "peer"
  std::string test = {};    // "prefill" or "decode"
  std::int64_t tokens = 0;  // read or written in a run
  std::int64_t depth = 0;   // tokens in the context before that
  double tokens_per_s = 0;  // the median run's
  std::string dtype = {};   // what the engine computes in
  std::string remark = {};  // how the peer got its figure, or empty
};

/// The middle value; the mean of the two middle ones if there is an even number. `values` is not empty.
[[nodiscard]] double median(std::vector<double> values);

/// The value that `share` of them (0 to 1) are at most, by the nearest rank; 0 of none.
[[nodiscard]] double percentile(std::vector<double> values, double share);

void print_json(std::ostream& out, const Measurement& measurement);

/// One line of print_json; kProtocol with the line if it is none.
[[nodiscard]] Result<Measurement> parse_json(std::string_view line);

/// A row a test, with the ratio kvboost : peer where both have run it.
void print_table(std::ostream& out, std::span<const Measurement> measurements);

}  // namespace kvboost::bench
