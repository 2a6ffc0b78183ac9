// SPDX-License-Identifier: Apache-2.0
// The engine's logits over real source, in a file, for bench/engine_kl.py to set beside a peer's. One thread
// (the engine's).
#pragma once

#include <cstdint>
#include <filesystem>

#include "base/error.h"
#include "bench/engine_bench.h"

namespace kvboost::bench {

/// Writes, little-endian: n and vocabulary (int32), n token ids (int32), logits (n, vocabulary) (float32).
[[nodiscard]] Result<void> dump_logits(const EngineBench& bench, std::int32_t tokens,
                                       const std::filesystem::path& out);

}  // namespace kvboost::bench
