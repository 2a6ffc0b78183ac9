// SPDX-License-Identifier: Apache-2.0
// How a group of 16 outputs lies in memory, and the kernels that multiply it; internal to PackedMatrix.
//
//   group  = quants scales                           each from a multiple of 64 bytes on
//   quants = chunk*                                  64 bytes: 4 for each output, output after output
//   scales = flat: (scale minimum?)* a unit of 32    16 halves each
//          | nested, a block of 8 units: scale minimum? then, a unit: sub-scales (int8), sub-minima (uint8)
//          of
//            each sub-unit, 16 each
//
// A unit is 8 chunks of 4 inputs a byte each, or, where quants have 4 bits at most, 4 chunks: low nibbles for
// 4 inputs, high nibbles for the next 4.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/model/gguf.h"

namespace kvboost::engine {

class PackedRow;

struct PackedGroup {
  const std::uint8_t* quants;
  const std::byte* scales;
};

/// The constants of QuantLayout, for kernels to be compiled with.
template <int kBits_, int kGroup, int kOffset_, bool kNested_, bool kMinimum_>
struct PackedFormat {
  static constexpr int kBits = kBits_;
  static constexpr bool kNibbles = kBits <= 4;
  static constexpr int kSubUnits = 32 / kGroup;
  static constexpr int kOffset = kOffset_;
  static constexpr bool kNested = kNested_;
  static constexpr bool kMinimum = kMinimum_;
  static constexpr int kUnitBytes = kNibbles ? 256 : 512;
  static constexpr int kHalvesBytes = kMinimum ? 64 : 32;  // scale and minimum
  static constexpr int kSubBytes = kNested ? 16 * kSubUnits * (kMinimum ? 2 : 1) : 0;
  static constexpr int kUnitsPerBlock = kNested ? 8 : 1;
};

/// y[0..16) = the group's products with x.
using GroupProduct = void (*)(const PackedGroup& group, const PackedRow& x, float* y);

/// Calls `use` with the PackedFormat of a quantised type, and gives what it gives.
template <class Use>
auto with_format(TensorType type, Use use) {
  switch (type) {
    case TensorType::kQ4_0:
      return use(PackedFormat<4, 32, -8, false, false>());
    case TensorType::kQ4_1:
      return use(PackedFormat<4, 32, 0, false, true>());
    case TensorType::kQ5_0:
      return use(PackedFormat<5, 32, -16, false, false>());
    case TensorType::kQ5_1:
      return use(PackedFormat<5, 32, 0, false, true>());
    case TensorType::kQ2_K:
      return use(PackedFormat<2, 16, 0, true, true>());
    case TensorType::kQ3_K:
      return use(PackedFormat<3, 16, -4, true, false>());
    case TensorType::kQ4_K:
      return use(PackedFormat<4, 32, 0, true, true>());
    case TensorType::kQ5_K:
      return use(PackedFormat<5, 32, 0, true, true>());
    case TensorType::kQ6_K:
      return use(PackedFormat<6, 16, -32, true, false>());
    default:
      return use(PackedFormat<8, 32, -128, false, false>());  // Q8_0
  }
}

[[nodiscard]] GroupProduct group_product_portable(TensorType type);
/// For CPUs with AVX2, FMA and F16C.
[[nodiscard]] GroupProduct group_product_avx2(TensorType type);
/// For CPUs with AVX-512 F, BW, DQ, VL and VNNI.
[[nodiscard]] GroupProduct group_product_avx512(TensorType type);

}  // namespace kvboost::engine
