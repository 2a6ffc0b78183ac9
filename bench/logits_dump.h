// SPDX-License-Identifier: Apache-2.0
// The engine's logits over real source, in a file, for bench/engine_kl.py to set beside a peer's. One thread
// (the engine's).
#pragma once

#include <cstdint>
#include <filesystem>

#include "base/error.h"
#include "bench/engine_bench.h"

namespace kvboost::bench {

/// As a prompt is read, or as an answer is written: these take different ways through the engine.
enum class Reading { kInBlocks, kOneByOne };

/// Writes, little-endian: n and vocabulary (int32), n token ids (int32), logits (n, vocabulary) (float32).
[[nodiscard]] Result<void> dump_logits(const EngineBench& bench, std::int32_t tokens, Reading reading,
                                       const std::filesystem::path& out);

}  // namespace kvboost::bench
