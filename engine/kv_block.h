// SPDX-License-Identifier: Apache-2.0
// KvBlock: the KV of one run of tokens as bytes, before RoPE. Torch-free: this is what the engine hands to
// the cache and takes back. A plain value, any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace kvboost::engine {

struct KvShape {
  std::int32_t n_layers = 0;
  std::int32_t n_kv_heads = 0;
  std::int32_t head_dim = 0;

  bool operator==(const KvShape&) const = default;
  /// bfloat16 elements of keys (or of values) of one token in one layer.
  [[nodiscard]] std::size_t row() const { return static_cast<std::size_t>(n_kv_heads) * head_dim; }
  /// Bytes of one token: keys and values of all layers, bfloat16.
  [[nodiscard]] std::size_t bytes_per_token() const { return row() * n_layers * 2 * sizeof(std::uint16_t); }
};

/// `data`: bfloat16 bit patterns, (n_layers, 2, n_tokens, n_kv_heads, head_dim); index 0 of the second
/// dimension is the keys before RoPE, index 1 the values.
struct KvBlock {
  KvShape shape;
  std::int32_t n_tokens = 0;
  std::vector<std::uint16_t> data;

  [[nodiscard]] std::size_t plane() const { return shape.row() * static_cast<std::size_t>(n_tokens); }
  [[nodiscard]] const std::uint16_t* keys(int layer) const { return data.data() + 2 * plane() * layer; }
  [[nodiscard]] const std::uint16_t* values(int layer) const { return keys(layer) + plane(); }
  [[nodiscard]] std::uint16_t* keys(int layer) { return data.data() + 2 * plane() * layer; }
  [[nodiscard]] std::uint16_t* values(int layer) { return keys(layer) + plane(); }
};

}  // namespace kvboost::engine
