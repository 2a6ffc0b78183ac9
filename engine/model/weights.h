// SPDX-License-Identifier: Apache-2.0
// Weights: a model's tensors in memory, ready to multiply; the file isn't needed any more. Made once at load,
// immutable afterwards.
#pragma once

#include <cstdint>
#include <functional>
#include <stop_token>
#include <vector>

#include "base/error.h"
#include "engine/model/gguf.h"
#include "engine/model/linear.h"
#include "engine/model_spec.h"

namespace kvboost::engine {

template <class T>
struct LayerWeights {
  std::vector<float> attention_norm;
  Linear<T> qkv;                            // queries, keys, values
  std::vector<float> qkv_bias;              // or empty, as the norms that not every model has
  std::vector<float> query_norm, key_norm;  // (head_dim)
  Linear<T> output;
  std::vector<float> post_attention_norm;
  std::vector<float> feed_forward_norm;
  Linear<T> gate_up;  // gate, up
  Linear<T> down;
  std::vector<float> post_feed_forward_norm;
};

template <class T>
struct Weights {
  Linear<T> embedding;  // (vocabulary, width)
  std::vector<LayerWeights<T>> layers;
  std::vector<float> output_norm;
  Linear<T> untied_output;  // empty where the embedding serves

  [[nodiscard]] const Linear<T>& output() const {
    return untied_output.outputs() > 0 ? untied_output : embedding;
  }
  [[nodiscard]] std::uint64_t bytes() const;
};

/// `gguf` has passed read_spec, so every tensor is there in its shape. kCorrupt, with the tensor's name,
/// where a number isn't finite; kCancelled. `progress` gets 0..1.
template <class T>
[[nodiscard]] Result<Weights<T>> load_weights(const Gguf& gguf, const ModelSpec& spec,
                                              const std::function<void(double)>& progress,
                                              const std::stop_token& stop);

}  // namespace kvboost::engine
