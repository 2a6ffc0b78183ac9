// SPDX-License-Identifier: Apache-2.0
// The chunker: a file's text to chunks of whole syntax nodes where there is a grammar for it, else by lines.
// Pure functions, any thread (warm calls it on workers).
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/digest.h"
#include "cache/chunk/chunk.h"

namespace kvboost::cache {

enum class Chunking {
  kSemantic,  // whole functions, classes, groups of small things, within ChunkLimits
  kFixed,     // fixed_tokens each, moved to the best cut within the window
  kDocument,  // the whole file
};

struct ChunkOptions {
  Chunking chunking = Chunking::kSemantic;
  ChunkLimits limits{};
  std::size_t fixed_tokens = 128;
  /// How far, in tokens, a nominal cut may move to a better place. The nominal chunk is half of max_tokens in
  /// semantic mode, where cuts also move further when they would tear something apart that can stay whole.
  std::size_t boundary_window = 32;
  /// Of the parser, in time of its thread: a file that takes longer is cut by lines.
  std::chrono::milliseconds parse_budget{500};
};

/// Of all that decides how a text is cut: the options, the grammars, and this chunker's version. Chunks that
/// were cut under another digest are not those that the same text would be cut into now.
[[nodiscard]] Digest digest_of(const ChunkOptions& options);

struct ChunkedFile {
  std::vector<Chunk> chunks;         // cover the text; none for an empty one
  std::vector<std::string> symbols;  // of each chunk: the declaration that begins in it or holds it, else ""
  std::string language;              // "C++"; empty without a grammar
  std::string reason;                // why a file with a grammar was cut by lines, else empty
};

/// `path` only tells the language. A text with \r\n line ends gives the same chunks as with \n; byte ranges
/// always refer to `text` itself; tokenise with_unix_line_ends of them (line_ends.h).
[[nodiscard]] ChunkedFile chunk(std::string_view path, std::string_view text, const ChunkOptions& options,
                                const TokenCounter& count);

}  // namespace kvboost::cache
