// SPDX-License-Identifier: Apache-2.0
// What the tests of the chunkers share: how tokens are counted, and what every list of chunks must fulfil.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cache/chunk/chunk.h"

namespace kvboost::test {

/// By the real model's tokenizer where KVBOOST_TEST_MODEL names one, else a token a word of up to 4 letters
/// and one for anything else that shows.
[[nodiscard]] const cache::TokenCounter& token_counter();

[[nodiscard]] std::string_view text_of(std::string_view text, const cache::Chunk& chunk);
[[nodiscard]] std::vector<std::string> texts_of(std::string_view text,
                                                const std::vector<cache::Chunk>& chunks);

/// Each byte in exactly one chunk, in order, with the right lines.
void expect_cover(std::string_view text, const std::vector<cache::Chunk>& chunks);

}  // namespace kvboost::test
