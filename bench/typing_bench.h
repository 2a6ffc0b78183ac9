// SPDX-License-Identifier: Apache-2.0
// TypingBench: a stretch of a repository's file is typed again, key by key, and at each key a hint is asked
// for as an editor does: how long until its first text, and until a line is whole; and how often it is what
// was typed next. All on one thread, from the buffer to the hint, without the socket.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <iosfwd>
#include <string>
#include <vector>

#include "base/error.h"
#include "bench/engine_bench.h"

namespace kvboost::bench {

struct TypingBench {
  EngineBench common;
  std::filesystem::path repository;
  std::string file;  // relative to it; empty: one of middling length
  std::size_t keys = 600;
  std::size_t prompt_tokens = 4096;
};

struct TypingFigures {
  std::string file;
  std::int64_t keys = 0;
  std::int64_t recent = 0;       // answered by what had been shown
  double prompt_tokens = 0;      // mean, of those that the model answered
  double computed_tokens = 0;    // median: what a key costs
  double opened_ms = 0;          // the first key's first text: all is new
  std::vector<double> first_ms;  // the other keys' first text
  std::vector<double> line_ms;   // whole hints of one line
  std::int64_t lines = 0;        // of these that were shown
  std::int64_t right = 0;        // of these, those that were typed next
};

[[nodiscard]] Result<TypingFigures> run_typing_bench(const TypingBench& bench);

void print_typing(std::ostream& out, const TypingFigures& figures, bool json);

}  // namespace kvboost::bench
