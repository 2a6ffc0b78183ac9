// SPDX-License-Identifier: Apache-2.0
// What logits say of the next token, and how far two of them are apart: for measuring. Pure functions, any
// thread.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace kvboost::engine {

/// ln of what softmax gives each token of the vocabulary.
using LogProbabilities = std::vector<double>;

/// `logits` is not empty.
[[nodiscard]] LogProbabilities log_softmax(std::span<const float> logits);

/// Kullback-Leibler divergence in nats, from what was expected to what was given instead; of the same size.
[[nodiscard]] double divergence(const LogProbabilities& from, const LogProbabilities& to);

/// The token; the first one of several.
[[nodiscard]] std::size_t likeliest(const LogProbabilities& of);

}  // namespace kvboost::engine
