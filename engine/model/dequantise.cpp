// SPDX-License-Identifier: Apache-2.0
#include "engine/model/dequantise.h"

#include <cstring>

#include "engine/model/half.h"
#include "engine/model/quant_block.h"

namespace kvboost::engine {
namespace {

template <class Convert>
void read_halves(std::span<const std::byte> in, std::span<float> out, Convert convert) {
  for (std::size_t i = 0; i < out.size(); ++i) {
    std::uint16_t bits = 0;
    std::memcpy(&bits, in.data() + i * sizeof bits, sizeof bits);
    out[i] = convert(bits);
  }
}

void write_values(const QuantLayout& layout, const QuantBlock& block, float* out) {
  const float scale = half_to_float(block.scale);
  const float minimum = layout.minimum ? half_to_float(block.minimum) : 0.0F;
  for (std::int32_t begin = 0; begin < layout.elements; begin += layout.group) {
    const std::int32_t g = begin / layout.group;
    const float step = layout.nested ? scale * static_cast<float>(block.scales[g]) : scale;
    const float least =
        layout.nested && layout.minimum ? minimum * static_cast<float>(block.minima[g]) : minimum;
    for (std::int32_t j = begin; j < begin + layout.group; ++j) {
      out[j] = step * static_cast<float>(block.quants[j] + layout.offset) + least;
    }
  }
}

}  // namespace

BlockFormat block_format(TensorType type) {
  if (const auto layout = quant_layout(type)) return {layout->elements, layout->bytes};
  return {1, type == TensorType::kF32 ? 4 : 2};
}

void dequantise(TensorType type, std::span<const std::byte> in, std::span<float> out) {
  switch (type) {
    case TensorType::kF32:
      if (!out.empty()) std::memcpy(out.data(), in.data(), out.size_bytes());
      return;
    case TensorType::kF16:
      return read_halves(in, out, half_to_float);
    case TensorType::kBF16:
      return read_halves(in, out, bfloat16_to_float);
    default:
      break;
  }
  const auto layout = quant_layout(type);
  if (!layout) return;
  QuantBlock block{};
  const std::byte* from = in.data();
  const auto elements = static_cast<std::size_t>(layout->elements);
  for (std::size_t at = 0; at < out.size(); at += elements, from += layout->bytes) {
    take_apart(type, from, block);
    write_values(*layout, block, out.data() + at);
  }
}

}  // namespace kvboost::engine
