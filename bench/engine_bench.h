// SPDX-License-Identifier: Apache-2.0
// The engine's speed, alone and beside a peer that reads the same GGUF file and the same token ids: prefill
// of a few lengths, decode behind a few depths. One engine at a time, never both at once. One thread (the
// engine's).
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "base/error.h"
#include "bench/measurement.h"
#include "engine/engine.h"

namespace kvboost::bench {

struct EngineBench {
  std::filesystem::path model;
  std::filesystem::path text;  // a file, or a folder whose C++ sources are joined
  engine::ComputeType compute = engine::ComputeType::kAuto;
  std::int32_t threads = 0;  // 0: one a physical core
  std::int32_t runs = 3;     // the median counts
  std::vector<std::int32_t> prefill = {512, 2048, 6000};
  std::vector<std::int32_t> depths = {0, 4096};
  std::int32_t decode_tokens = 64;
  std::string peer;  // a command, an interpreter that has llama_cpp, or empty
};

/// The first `count` ids of the sample text; kInvalidArgument if it has fewer.
[[nodiscard]] Result<std::vector<engine::TokenId>> sample_tokens(const EngineBench& bench,
                                                                 const engine::Engine& engine,
                                                                 std::int32_t count);

using MeasurementSink = std::function<void(const Measurement&)>;

/// Runs kvboost's engine, then the peer's, and hands on each figure as it is known. Progress goes to stderr.
[[nodiscard]] Result<void> run_engine_bench(const EngineBench& bench, const MeasurementSink& sink);

/// Peak memory while the whole context is read, against the weights and the live KV, in lines of text.
[[nodiscard]] Result<std::string> run_memory_bench(const EngineBench& bench);

}  // namespace kvboost::bench
