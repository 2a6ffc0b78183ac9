// SPDX-License-Identifier: Apache-2.0
// AskChunk: what is told of one part of a prompt, where a result explains itself. Part of methods.h, which is
// what to include.
#pragma once

#include <cstdint>
#include <string>

namespace kvboost::protocol {

/// One chunk of the prompt, or a file's opening (no lines), the header or literal text (no path).
struct AskChunk {
  std::string path{};
  std::int32_t first_line = 0;
  std::int32_t last_line = 0;
  std::string match{};   // "live" "exact" "approximate" "missed" "literal"
  std::string reason{};  // why it was found so, and what was done
  std::int32_t tokens = 0;
  std::int32_t computed = 0;
  std::int32_t repaired = 0;
  std::uint64_t bytes = 0;  // of KV that was loaded
  double ms = 0;            // of loading and computing it
};

}  // namespace kvboost::protocol
