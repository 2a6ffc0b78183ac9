// SPDX-License-Identifier: Apache-2.0
// Block-quantised tensors of a GGUF to numbers (formats: ggml-org/ggml, ggml-quants.c and ggml-common.h, as
// documented there). Torch-free, pure functions, any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "engine/model/gguf.h"

namespace kvboost::engine {

struct BlockFormat {
  std::int64_t elements;  // per block
  std::int64_t bytes;     // per block
};
/// kF32 → {1, 4}, kQ4_1 → {32, 20}, kQ4_K → {256, 144}, ...
[[nodiscard]] BlockFormat block_format(TensorType type);

/// Dequantises whole blocks: in.size() == out.size() / elements * bytes, which the caller ensures
/// (Gguf has checked it for its tensors).
void dequantise(TensorType type, std::span<const std::byte> in, std::span<float> out);

}  // namespace kvboost::engine
