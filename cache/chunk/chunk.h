// SPDX-License-Identifier: Apache-2.0
// Chunk: a span of one file. Chunkers cut a text into chunks that cover it, each byte in exactly one. Plain
// values and pure functions, any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace kvboost::cache {

/// Half-open byte range [begin, end) of the text; lines are 1-based and inclusive.
struct Chunk {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::int32_t first_line = 1;
  std::int32_t last_line = 1;
};

/// Tokens of a piece of text, by the model's tokenizer.
using TokenCounter = std::function<std::size_t(std::string_view)>;

struct ChunkLimits {
  std::size_t min_tokens = 64;
  std::size_t max_tokens = 512;
};

/// By lines and blank-line paragraphs, for text without a grammar. A line longer than max_tokens is cut at
/// UTF-8 character boundaries. Linear in the text.
[[nodiscard]] std::vector<Chunk> chunk_lines(std::string_view text, const ChunkLimits& limits,
                                             const TokenCounter& count);

}  // namespace kvboost::cache
