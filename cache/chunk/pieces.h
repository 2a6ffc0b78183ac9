// SPDX-License-Identifier: Apache-2.0
// The pieces that chunks are joined from: a line with the blank lines behind it, or a part of a line that is
// too long. The tokens of each are counted once. Plain values and pure functions, any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "cache/chunk/chunk.h"

namespace kvboost::cache {

struct Piece {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::size_t tokens = 0;
  std::int32_t row = 0;  // of its first byte, from 0
  std::size_t indent = 0;
  bool starts_line = true;  // false: the line began in the piece before
  bool after_blank = false;
};

/// Pieces that cover `text`, of at most `max_tokens` tokens each, or of one character. `text` has \n line
/// ends.
///
/// A piece's tokens are counted with the white space before its line and without that behind it. So
/// tokenizers, which join line ends with the next line's indentation, see what they see in the whole text,
/// and the sum over neighbours is their count as one text, but for a few tokens.
[[nodiscard]] std::vector<Piece> cut_pieces(std::string_view text, std::size_t max_tokens,
                                            const TokenCounter& count);

}  // namespace kvboost::cache
