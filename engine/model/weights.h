// SPDX-License-Identifier: Apache-2.0
// Weights: a model's tensors as numbers of the compute type, the matrices that share an input joined into
// one. Made once at load, immutable afterwards.
#pragma once

#include <cstdint>
#include <functional>
#include <stop_token>
#include <vector>

#include "base/error.h"
#include "engine/kernels/aligned_buffer.h"
#include "engine/kernels/bfloat16.h"
#include "engine/model/gguf.h"
#include "engine/model_spec.h"

namespace kvboost::engine {

/// (outputs, inputs), row after row.
template <class T>
struct Matrix {
  std::int32_t outputs = 0;
  std::int32_t inputs = 0;
  AlignedBuffer<T> data;
};

template <class T>
struct LayerWeights {
  std::vector<float> attention_norm;
  Matrix<T> qkv;                            // queries, keys, values
  std::vector<float> qkv_bias;              // or empty, as all norms below
  std::vector<float> query_norm, key_norm;  // (head_dim)
  Matrix<T> output;
  std::vector<float> post_attention_norm;
  std::vector<float> feed_forward_norm;
  Matrix<T> gate_up;  // gate, up
  Matrix<T> down;
  std::vector<float> post_feed_forward_norm;
};

template <class T>
struct Weights {
  const GgufTensor* embedding = nullptr;  // stays in the file: a few rows a call are dequantised on the way
  std::vector<LayerWeights<T>> layers;
  std::vector<float> output_norm;
  Matrix<T> vocabulary;  // the output matrix, tied or not

  [[nodiscard]] std::uint64_t bytes() const;
};

/// `gguf` has passed read_spec, so every tensor is there in its shape, and outlives the weights. kCorrupt,
/// with the tensor's name, where a number isn't finite; kCancelled. `progress` gets 0..1.
template <class T>
[[nodiscard]] Result<Weights<T>> load_weights(const Gguf& gguf, const ModelSpec& spec,
                                              const std::function<void(double)>& progress,
                                              const std::stop_token& stop);

/// Row `row` of a tensor in the file, as float32.
void dequantise_row(const GgufTensor& tensor, std::int64_t row, std::span<float> out);

}  // namespace kvboost::engine
