// SPDX-License-Identifier: Apache-2.0
// How likely tokens are behind hidden states, over a whole vocabulary and without its logits ever standing in
// memory: rows of the output matrix are unpacked a tile at a time, multiplied with all states, and summed up
// as exponentials. Engine thread, which spreads the work.
#pragma once

#include <span>
#include <stop_token>

#include "engine/model/linear.h"
#include "engine/tokenizer.h"

namespace kvboost::engine {

/// ln of what softmax(output * hidden) gives tokens[i], for each i. `hidden` is (tokens.size(), inputs), what
/// the last norm gave. The matrix and the states are rounded to T, sums are float32. False: stopped, `out` is
/// unspecified.
template <class T>
[[nodiscard]] bool log_likelihood(const Linear<T>& output, std::span<const float> hidden,
                                  std::span<const TokenId> tokens, std::span<float> out,
                                  const std::stop_token& stop);

}  // namespace kvboost::engine
