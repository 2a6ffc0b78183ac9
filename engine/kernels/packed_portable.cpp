// SPDX-License-Identifier: Apache-2.0
// For CPUs without AVX2, and what the others are tested against: the same sums, lane by lane.
#include <array>
#include <cstring>

#include "engine/kernels/packed_group.h"
#include "engine/kernels/packed_matrix.h"
#include "engine/model/half.h"

namespace kvboost::engine {
namespace {

using Lanes = std::array<float, kPackedGroup>;

float half_at(const std::byte* halves, int lane) {
  std::uint16_t bits = 0;
  std::memcpy(&bits, halves + static_cast<std::ptrdiff_t>(lane) * 2, sizeof bits);
  return half_to_float(bits);
}

std::int32_t whole(const PackedRow& x, std::ptrdiff_t input) {
  return x.high()[input] * 256 + x.low()[input];
}

/// Sum of quants times whole numbers over a sub-unit's inputs, for each lane.
template <class F>
Lanes sub_unit(const std::uint8_t* quants, const PackedRow& x, std::ptrdiff_t input) {
  constexpr int kChunkInputs = F::kNibbles ? 8 : 4;
  std::array<std::int32_t, kPackedGroup> sums{};
  for (int at = 0; at < 32 / F::kSubUnits; at += kChunkInputs, quants += 64) {
    for (int lane = 0; lane < kPackedGroup; ++lane) {
      for (int j = 0; j < 4; ++j) {
        const int quant = quants[lane * 4 + j];
        if constexpr (F::kNibbles) {
          sums[lane] += ((quant & 15) + F::kOffset) * whole(x, input + at + j);
          sums[lane] += ((quant >> 4) + F::kOffset) * whole(x, input + at + 4 + j);
        } else {
          sums[lane] += (quant + F::kOffset) * whole(x, input + at + j);
        }
      }
    }
  }
  Lanes result;
  for (int lane = 0; lane < kPackedGroup; ++lane) result[lane] = static_cast<float>(sums[lane]);
  return result;
}

template <class F>
void product(const PackedGroup& group, const PackedRow& x, float* y) {
  const std::uint8_t* quants = group.quants;
  const std::byte* scales = group.scales;
  Lanes result{};
  for (std::ptrdiff_t unit = 0; unit < x.n_units();) {
    const std::byte* halves = scales;
    scales += F::kHalvesBytes;
    Lanes scaled{};
    Lanes least{};
    for (int i = 0; i < F::kUnitsPerBlock; ++i, ++unit, scales += F::kSubBytes) {
      const float step = x.scales()[unit];
      for (int sub = 0; sub < F::kSubUnits; ++sub, quants += F::kUnitBytes / F::kSubUnits) {
        const Lanes sums = sub_unit<F>(quants, x, unit * 32 + sub * 16);
        const std::int32_t* row_sums = x.sums() + 2 * unit;
        const auto row_sum =
            static_cast<float>(F::kSubUnits == 2 ? row_sums[sub] : row_sums[0] + row_sums[1]);
        for (int lane = 0; lane < kPackedGroup; ++lane) {
          const auto sub_scale = F::kNested ? static_cast<std::int8_t>(scales[sub * 16 + lane]) : 1;
          scaled[lane] += sums[lane] * step * static_cast<float>(sub_scale);
          if constexpr (F::kMinimum) {
            const auto sub_minimum =
                F::kNested ? std::to_integer<int>(scales[(F::kSubUnits + sub) * 16 + lane]) : 1;
            least[lane] += static_cast<float>(sub_minimum) * row_sum * step;
          }
        }
      }
    }
    for (int lane = 0; lane < kPackedGroup; ++lane) {
      result[lane] += scaled[lane] * half_at(halves, lane);
      if constexpr (F::kMinimum) result[lane] += least[lane] * half_at(halves + 32, lane);
    }
  }
  std::memcpy(y, result.data(), sizeof result);
}

}  // namespace

GroupProduct group_product_portable(TensorType type) {
  return with_format(type, []<class F>(F) -> GroupProduct { return product<F>; });
}

}  // namespace kvboost::engine
