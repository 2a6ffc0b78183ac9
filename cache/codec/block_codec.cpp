// SPDX-License-Identifier: Apache-2.0
#include "cache/codec/block_codec.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "cache/codec/quantise.h"

namespace kvboost::cache {
namespace {

std::size_t groups(std::size_t count) {
  return (count + kGroup - 1) / kGroup;
}

int bits_of(Codec codec) {
  return codec == Codec::kInt8 ? 8 : 4;
}

/// Where the parts of one quantised layer lie, in bytes from its start. Ranges come before q and have an even
/// size, and every layer's size is even, so that the bfloat16 numbers are aligned whenever the payload is.
struct QuantisedLayout {
  std::size_t row, q_row, key_ranges, key_q, value_ranges, value_q, size;

  QuantisedLayout(const BlockShape& shape, int bits) {
    const auto n = static_cast<std::size_t>(shape.n_tokens);
    row = shape.row();
    q_row = row * static_cast<std::size_t>(bits) / 8;
    key_ranges = 0;
    key_q = groups(n) * 2 * row * 2;
    value_ranges = even(key_q + n * q_row);
    value_q = value_ranges + n * 2 * groups(row) * 2;
    size = even(value_q + n * q_row);
  }

 private:
  static std::size_t even(std::size_t size) { return (size + 1) & ~std::size_t{1}; }
};

std::size_t tags_size(const BlockShape& shape) {
  return (static_cast<std::size_t>(shape.n_layers) + 1) & ~std::size_t{1};
}

std::size_t layer_size(const BlockShape& shape, Codec codec) {
  if (codec == Codec::kBf16) return 2 * shape.plane() * sizeof(std::uint16_t);
  return QuantisedLayout(shape, bits_of(codec)).size;
}

/// No product of the numbers overflows then.
bool valid(const BlockShape& shape) {
  const auto within = [](std::int32_t value, std::int32_t most) { return value > 0 && value <= most; };
  return within(shape.n_layers, 1 << 12) && within(shape.n_kv_heads, 1 << 12) &&
         within(shape.head_dim, 1 << 12) && within(shape.n_tokens, 1 << 22) && shape.head_dim % 2 == 0;
}

void encode_layer(const BlockShape& shape, const std::uint16_t* keys, Codec codec, std::byte* out) {
  const std::uint16_t* values = keys + shape.plane();
  if (codec == Codec::kBf16) {
    std::memcpy(out, keys, 2 * shape.plane() * sizeof(std::uint16_t));
    return;
  }
  const int bits = bits_of(codec);
  const QuantisedLayout at(shape, bits);
  const auto n = static_cast<std::size_t>(shape.n_tokens);
  auto* ranges = reinterpret_cast<std::uint16_t*>(out + at.key_ranges);
  auto* q = reinterpret_cast<std::uint8_t*>(out + at.key_q);
  for (std::size_t first = 0; first < n; first += kGroup) {
    quantise_columns(keys + first * at.row, std::min(kGroup, n - first), at.row, bits, ranges,
                     ranges + at.row, q + first * at.q_row);
    ranges += 2 * at.row;
  }
  ranges = reinterpret_cast<std::uint16_t*>(out + at.value_ranges);
  q = reinterpret_cast<std::uint8_t*>(out + at.value_q);
  for (std::size_t t = 0; t < n; ++t) {
    quantise_row(values + t * at.row, at.row, bits, ranges, ranges + groups(at.row), q + t * at.q_row);
    ranges += 2 * groups(at.row);
  }
}

void decode_layer(const BlockShape& shape, const std::byte* in, Codec codec, std::uint16_t* keys) {
  std::uint16_t* values = keys + shape.plane();
  if (codec == Codec::kBf16) {
    std::memcpy(keys, in, 2 * shape.plane() * sizeof(std::uint16_t));
    return;
  }
  const int bits = bits_of(codec);
  const QuantisedLayout at(shape, bits);
  const auto n = static_cast<std::size_t>(shape.n_tokens);
  const auto* ranges = reinterpret_cast<const std::uint16_t*>(in + at.key_ranges);
  const auto* q = reinterpret_cast<const std::uint8_t*>(in + at.key_q);
  for (std::size_t first = 0; first < n; first += kGroup) {
    dequantise_columns(q + first * at.q_row, std::min(kGroup, n - first), at.row, bits, ranges,
                       ranges + at.row, keys + first * at.row);
    ranges += 2 * at.row;
  }
  ranges = reinterpret_cast<const std::uint16_t*>(in + at.value_ranges);
  q = reinterpret_cast<const std::uint8_t*>(in + at.value_q);
  for (std::size_t t = 0; t < n; ++t) {
    dequantise_row(q + t * at.q_row, at.row, bits, ranges, ranges + groups(at.row), values + t * at.row);
    ranges += 2 * groups(at.row);
  }
}

}  // namespace

std::string_view to_string(Codec codec) {
  switch (codec) {
    case Codec::kBf16:
      return "bf16";
    case Codec::kInt8:
      return "int8";
    case Codec::kInt4:
      return "int4";
  }
  return "unknown";
}

Result<Codec> parse_codec(std::string_view name) {
  for (const Codec codec : {Codec::kBf16, Codec::kInt8, Codec::kInt4}) {
    if (name == to_string(codec)) return codec;
  }
  return fail(ErrorCode::kInvalidArgument, "'" + std::string(name) + "' is not a codec",
              "use bf16, int8 or int4");
}

std::size_t encoded_size(const BlockShape& shape, std::span<const Codec> per_layer) {
  std::size_t size = tags_size(shape);
  for (const Codec codec : per_layer) size += layer_size(shape, codec);
  return size;
}

Result<std::vector<std::byte>> encode_block(const BlockShape& shape, std::span<const std::uint16_t> block,
                                            std::span<const Codec> per_layer) {
  if (!valid(shape) || block.size() != shape.elements() ||
      per_layer.size() != static_cast<std::size_t>(shape.n_layers)) {
    return fail(ErrorCode::kInvalidArgument, "the block does not have the shape that was said");
  }
  if (!all_finite(block.data(), block.size())) {
    return fail(ErrorCode::kInvalidArgument, "the block holds numbers that are not finite");
  }
  std::vector<std::byte> payload(encoded_size(shape, per_layer));
  for (std::size_t i = 0; i < per_layer.size(); ++i) payload[i] = static_cast<std::byte>(per_layer[i]);
  std::byte* out = payload.data() + tags_size(shape);
  const std::uint16_t* layer = block.data();
  for (const Codec codec : per_layer) {
    encode_layer(shape, layer, codec, out);
    layer += 2 * shape.plane();
    out += layer_size(shape, codec);
  }
  return payload;
}

Result<std::vector<Codec>> codecs_of(const BlockShape& shape, std::span<const std::byte> payload) {
  if (!valid(shape) || payload.size() < tags_size(shape)) {
    return fail(ErrorCode::kCorrupt, "the record's payload is cut short");
  }
  std::vector<Codec> per_layer;
  for (const std::byte tag : payload.first(static_cast<std::size_t>(shape.n_layers))) {
    if (static_cast<std::uint8_t>(tag) > static_cast<std::uint8_t>(Codec::kInt4)) {
      return fail(ErrorCode::kCorrupt, "the record names an unknown codec");
    }
    per_layer.push_back(static_cast<Codec>(tag));
  }
  if (payload.size() != encoded_size(shape, per_layer)) {
    return fail(ErrorCode::kCorrupt, "the record's payload has " + std::to_string(payload.size()) +
                                         " bytes, its shape needs " +
                                         std::to_string(encoded_size(shape, per_layer)));
  }
  return per_layer;
}

Result<void> decode_block(const BlockShape& shape, std::span<const std::byte> payload,
                          std::span<std::uint16_t> block, const PartSink& on_part) {
  if (!valid(shape) || block.size() != shape.elements()) {
    return fail(ErrorCode::kInvalidArgument, "the block does not have the shape that was said");
  }
  const auto per_layer = codecs_of(shape, payload);
  if (!per_layer) return fail(per_layer.error());
  const auto take = [&](std::size_t size) {
    const auto part = payload.first(size);
    payload = payload.subspan(size);
    if (on_part) on_part(part);
    return part.data();
  };
  take(tags_size(shape));
  std::uint16_t* layer = block.data();
  for (const Codec codec : *per_layer) {
    decode_layer(shape, take(layer_size(shape, codec)), codec, layer);
    layer += 2 * shape.plane();
  }
  return {};
}

}  // namespace kvboost::cache
