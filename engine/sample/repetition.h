// SPDX-License-Identifier: Apache-2.0
// Repetition: notices that a model goes round in circles, as small ones do: the last tokens are one short
// piece over and over. Belongs to one generation, one thread.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "engine/tokenizer.h"

namespace kvboost::engine {

class Repetition {
 public:
  /// True once the tokens so far end in one piece, of at most 64 tokens, four times or more, and for at least
  /// 64 tokens: less than that tables and tests have too.
  [[nodiscard]] bool push(TokenId token);

 private:
  static constexpr std::size_t kLongestPiece = 64;
  static constexpr std::size_t kTimes = 4;
  static constexpr std::size_t kLeastTokens = 64;

  std::vector<TokenId> tokens_;
  /// For each length of a piece: how many of the last tokens equal the one that far before them.
  std::array<std::size_t, kLongestPiece + 1> equal_{};
};

}  // namespace kvboost::engine
