// SPDX-License-Identifier: Apache-2.0
// What a codec costs in exactness, on blocks of real text computed with the real model: how far the decoded
// numbers are from what was computed, and how far the distributions of the tokens that follow are from those
// behind the blocks as they were computed. One thread (the engine's).
#pragma once

#include <cstdint>
#include <functional>
#include <ostream>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "bench/engine_bench.h"
#include "cache/codec/block_codec.h"

namespace kvboost::bench {

struct CodecBench {
  EngineBench engine;        // model, text, compute, threads
  std::int32_t samples = 4;  // stretches of the text, apart from each other
  std::int32_t chunks = 4;   // of each, read in order
  std::int32_t chunk_tokens = 256;
  std::int32_t answer = 64;  // tokens that follow, whose distributions are compared
};

/// A codec for each layer, under a name.
struct CodecChoice {
  std::string name;
  std::vector<cache::Codec> per_layer;
};
/// bf16, int8, int4, and int4 with the first and the last eighth of the layers in int8.
[[nodiscard]] std::vector<CodecChoice> codec_choices(std::int32_t n_layers);

struct CodecError {
  std::string codec;
  double bytes_per_token = 0;
  double key_error = 0;  // ‖decoded − computed‖ / ‖computed‖ over all layers and samples
  double value_error = 0;
  double mean_kl = 0;  // nats, over the positions of all answers
  double worst_kl = 0;
  double same_token = 0;  // how often the likeliest token is the same, 0..1
};

[[nodiscard]] Result<std::vector<CodecError>> run_codec_bench(const CodecBench& bench);

void print_codec_json(std::ostream& out, std::span<const CodecError> errors);
void print_codec_table(std::ostream& out, std::span<const CodecError> errors);

}  // namespace kvboost::bench
