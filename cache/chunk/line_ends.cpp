// SPDX-License-Identifier: Apache-2.0
#include "cache/chunk/line_ends.h"

#include <cstddef>

namespace kvboost::cache {
namespace {

bool is_line_end(std::string_view text, std::size_t at) {
  return text.substr(at, 2) == "\r\n";
}

}  // namespace

std::string with_unix_line_ends(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (!is_line_end(text, i)) result += text[i];
  }
  return result;
}

void map_to_original(std::string_view text, std::vector<Chunk>& chunks) {
  std::size_t original = 0;
  std::size_t unix_offset = 0;
  for (Chunk& chunk : chunks) {
    chunk.begin = original;
    while (unix_offset < chunk.end) {
      original += is_line_end(text, original) ? 2 : 1;
      ++unix_offset;
    }
    chunk.end = original;
  }
}

}  // namespace kvboost::cache
