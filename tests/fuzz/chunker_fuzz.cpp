// SPDX-License-Identifier: Apache-2.0
// Any bytes as a source file of any language: the first byte chooses the grammar, the second the way of
// chunking.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "cache/chunk/chunker.h"
#include "cache/chunk/grammars.h"
#include "cache/chunk/line_ends.h"

namespace {

using namespace kvboost::cache;

void require(bool holds) {
  if (!holds) std::abort();
}

std::size_t count_tokens(std::string_view text) {
  const auto shows = [](char c) { return c != ' '; };
  return static_cast<std::size_t>(std::ranges::count_if(text, shows)) / 3 + 1;
}

ChunkedFile cut(std::string_view path, std::string_view text, const ChunkOptions& options) {
  ChunkedFile file = chunk(path, text, options, count_tokens);
  std::size_t at = 0;
  std::int32_t line = 1;
  for (const Chunk& chunk : file.chunks) {
    require(chunk.begin == at && chunk.end > at && chunk.end <= text.size());
    require(chunk.first_line == line);
    const std::string_view content = text.substr(at, chunk.end - at);
    line += static_cast<std::int32_t>(std::ranges::count(content, '\n'));
    require(chunk.last_line == (content.back() == '\n' ? line - 1 : line));
    at = chunk.end;
    if (options.chunking == Chunking::kSemantic) require(count_tokens(content) <= options.limits.max_tokens);
  }
  require(at == text.size());
  require(file.symbols.size() == file.chunks.size());
  return file;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const Grammar& grammar = all_grammars()[data[0] % all_grammars().size()];
  const std::string path = "a." + std::string(grammar.extensions.substr(0, grammar.extensions.find(' ')));
  const ChunkOptions options{.chunking = static_cast<Chunking>(data[1] % 3),
                             .limits = {.min_tokens = 16, .max_tokens = 100},
                             .fixed_tokens = 40,
                             .boundary_window = 10};
  const std::string_view text(reinterpret_cast<const char*>(data) + 2, size - 2);
  const ChunkedFile file = cut(path, text, options);
  if (text.contains("\r\n")) {
    const std::string unix_text = with_unix_line_ends(text);
    if (!unix_text.contains("\r\n"))
      require(cut(path, unix_text, options).chunks.size() == file.chunks.size());
  }
  return 0;
}
