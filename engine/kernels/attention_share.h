// SPDX-License-Identifier: Apache-2.0
// add_shares: how much of their attention some tokens pay to each cell. Attention itself never has these
// probabilities at hand (attention.h), but leaves each row's weight, and with it the scores are gone through
// once more: about half of an attention. Called on the engine thread, spreads over its threads.
#pragma once

#include <span>

#include "engine/kernels/attention.h"

namespace kvboost::engine {

/// Adds to shares[cell] the sum over all tokens and heads of the call of their attention probability for it.
/// Cells from shares.size() on take part in the softmax and are not told of. `attention` must have filled
/// `call.log_weight`; `call.output` is not used.
template <class T>
void add_shares(const AttentionCall<T>& call, std::span<float> shares);

}  // namespace kvboost::engine
