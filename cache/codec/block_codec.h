// SPDX-License-Identifier: Apache-2.0
// block_codec: a block's numbers as bytes of a record, and back. Pure functions, any thread.
//
// After KIVI (Liu et al. 2024): keys before RoPE have channels that are large in every token, so each channel
// gets its own range over a group of tokens; values have tokens that are large, so each token gets its own
// range over a group of channels. Both asymmetric: x ≈ minimum + step · q. The minimum is an element of the
// group and so exact in bfloat16; the step is rounded up to bfloat16, so that the range always covers the
// group.
//
// Grammar of the payload (little-endian):
//   payload := codec{n_layers} layer{n_layers}          codec := u8
//   layer   := keys values
//   bf16:  keys, values := bf16[n_tokens][row]          row = n_kv_heads · head_dim
//   intN:  keys   := ranges[⌈n_tokens/32⌉][2][row] q[n_tokens][row]       ranges: bf16 minima, then steps
//          values := ranges[n_tokens][2][⌈row/32⌉]  q[n_tokens][row]
//   int4 packs channels 2i and 2i + 1 into the low and high half of byte i; row is even.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace kvboost::cache {

enum class Codec : std::uint8_t { kBf16 = 0, kInt8 = 1, kInt4 = 2 };
[[nodiscard]] std::string_view to_string(Codec codec);
[[nodiscard]] Result<Codec> parse_codec(std::string_view name);

/// The numbers of a block: bfloat16 bit patterns, (n_layers, 2, n_tokens, n_kv_heads, head_dim), keys before
/// values.
struct BlockShape {
  std::int32_t n_layers = 0;
  std::int32_t n_kv_heads = 0;
  std::int32_t head_dim = 0;
  std::int32_t n_tokens = 0;

  bool operator==(const BlockShape&) const = default;
  [[nodiscard]] std::size_t row() const { return static_cast<std::size_t>(n_kv_heads) * head_dim; }
  [[nodiscard]] std::size_t plane() const { return row() * n_tokens; }
  [[nodiscard]] std::size_t elements() const { return 2 * plane() * n_layers; }
};

/// Bytes of the payload.
[[nodiscard]] std::size_t encoded_size(const BlockShape& shape, std::span<const Codec> per_layer);

/// `block` has shape.elements() elements, `per_layer` shape.n_layers. kInvalidArgument when an element is NaN
/// or infinite (such a block must not be kept), or the shape does not fit the arguments.
[[nodiscard]] Result<std::vector<std::byte>> encode_block(const BlockShape& shape,
                                                          std::span<const std::uint16_t> block,
                                                          std::span<const Codec> per_layer);

/// The codec of each layer; kCorrupt when the payload is not one of this shape. Safe on any bytes.
[[nodiscard]] Result<std::vector<Codec>> codecs_of(const BlockShape& shape,
                                                   std::span<const std::byte> payload);

/// Decodes the whole payload into `block` (shape.elements() elements). kCorrupt when the payload is not one
/// of this shape. `on_part` is shown each part of the payload, in order, before it is decoded: who must read
/// the bytes too does so while they are near.
using PartSink = std::function<void(std::span<const std::byte> part)>;
[[nodiscard]] Result<void> decode_block(const BlockShape& shape, std::span<const std::byte> payload,
                                        std::span<std::uint16_t> block, const PartSink& on_part = {});

}  // namespace kvboost::cache
