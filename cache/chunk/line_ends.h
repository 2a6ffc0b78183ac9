// SPDX-License-Identifier: Apache-2.0
// \r\n and \n: what is chunked and tokenised has \n, so that a checkout's line ends change neither chunks nor
// token ids. Pure functions, any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cache/chunk/chunk.h"

namespace kvboost::cache {

/// `text` with \n in place of \r\n.
[[nodiscard]] std::string with_unix_line_ends(std::string_view text);

/// Chunks that cover with_unix_line_ends(text), as byte ranges of `text` itself.
void map_to_original(std::string_view text, std::vector<Chunk>& chunks);

}  // namespace kvboost::cache
