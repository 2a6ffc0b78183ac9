// SPDX-License-Identifier: Apache-2.0
#include "engine/sample/repetition.h"

#include <algorithm>

namespace kvboost::engine {

bool Repetition::push(TokenId token) {
  tokens_.push_back(token);
  bool repeats = false;
  for (std::size_t piece = 1; piece <= kLongestPiece && piece < tokens_.size(); ++piece) {
    const bool same = tokens_[tokens_.size() - 1 - piece] == token;
    equal_[piece] = same ? equal_[piece] + 1 : 0;
    repeats = repeats || equal_[piece] + piece >= std::max(kTimes * piece, kLeastTokens);
  }
  return repeats;
}

}  // namespace kvboost::engine
