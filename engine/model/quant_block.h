// SPDX-License-Identifier: Apache-2.0
// QuantBlock: one block of a quantised tensor, taken apart. Every quantised type of a GGUF comes to the same
// formula, which the layout completes:
//
//   value[j] = scale * scales[g] * (quants[j] + offset) + minimum * minima[g],   g = j / group
//
// Pure functions, any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "engine/model/gguf.h"

namespace kvboost::engine {

struct QuantLayout {
  std::int32_t elements;  // of a block
  std::int32_t bytes;     // of a block
  std::int32_t group;     // values that share scales[g] and minima[g]
  std::int32_t bits;      // of a quant
  std::int32_t offset;
  bool nested;   // false: the block is one group, scales and minima are 1
  bool minimum;  // false: there is none
};

/// Nothing for a type of plain numbers.
[[nodiscard]] std::optional<QuantLayout> quant_layout(TensorType type);

struct QuantBlock {
  std::array<std::uint8_t, 256> quants;
  std::array<std::int8_t, 16> scales;
  std::array<std::uint8_t, 16> minima;
  std::uint16_t scale;    // bits of a half
  std::uint16_t minimum;  // bits of a half
};

/// Reads the block at `from`, at any address; `type` has a layout. Only what the layout has is written.
void take_apart(TensorType type, const std::byte* from, QuantBlock& to);

}  // namespace kvboost::engine
