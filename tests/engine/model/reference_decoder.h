// SPDX-License-Identifier: Apache-2.0
// A decoder written down a second time, in double and without any trick: what the engine is compared with.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/model/gguf.h"
#include "engine/model_spec.h"

namespace kvboost::test {

/// Logits of every token, (tokens, vocabulary). The tensors are F32. RoPE scaling: none or frequency factors.
[[nodiscard]] std::vector<std::vector<double>> reference_logits(const engine::Gguf& gguf,
                                                                const engine::ModelSpec& spec,
                                                                std::span<const std::int32_t> tokens,
                                                                std::span<const std::int32_t> positions);

}  // namespace kvboost::test
