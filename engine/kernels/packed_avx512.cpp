// SPDX-License-Identifier: Apache-2.0
// A vector's 16 lanes are a group's 16 outputs. VNNI multiplies 4 unsigned quants a lane by 4 signed values
// and adds them up, once for the values' high parts and once for their low parts.
#include <immintrin.h>

#include <cstring>

#include "engine/kernels/packed_group.h"
#include "engine/kernels/packed_matrix.h"

#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma,f16c,prefer-vector-width=512")

namespace kvboost::engine {
namespace {

/// Four neighbouring values of the row in every lane.
inline __m512i four(const std::int8_t* at) {
  std::int32_t bits = 0;
  std::memcpy(&bits, at, sizeof bits);
  return _mm512_set1_epi32(bits);
}

inline __m512 halves(const std::byte* at) {
  return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(at)));
}

inline __m512 signed_bytes(const std::byte* at) {
  return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(at))));
}

inline __m512 unsigned_bytes(const std::byte* at) {
  return _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(at))));
}

/// Sum of quants times whole numbers over a sub-unit's inputs, which begin at `input` of the row.
template <class F>
inline __m512 sub_unit(const std::uint8_t* quants, const PackedRow& x, std::ptrdiff_t input) {
  constexpr int kInputs = 32 / F::kSubUnits;
  const std::int8_t* high = x.high() + input;
  const std::int8_t* low = x.low() + input;
  __m512i of_high = _mm512_setzero_si512();
  __m512i of_low = _mm512_setzero_si512();
  if constexpr (F::kNibbles) {
    const __m512i mask = _mm512_set1_epi8(15);
    for (int i = 0; i < kInputs; i += 8, quants += 64) {
      const __m512i both = _mm512_loadu_si512(quants);
      const __m512i first = _mm512_and_si512(both, mask);
      const __m512i second = _mm512_and_si512(_mm512_srli_epi16(both, 4), mask);
      of_high = _mm512_dpbusd_epi32(of_high, first, four(high + i));
      of_low = _mm512_dpbusd_epi32(of_low, first, four(low + i));
      of_high = _mm512_dpbusd_epi32(of_high, second, four(high + i + 4));
      of_low = _mm512_dpbusd_epi32(of_low, second, four(low + i + 4));
    }
  } else {
    for (int i = 0; i < kInputs; i += 4, quants += 64) {
      const __m512i four_quants = _mm512_loadu_si512(quants);
      of_high = _mm512_dpbusd_epi32(of_high, four_quants, four(high + i));
      of_low = _mm512_dpbusd_epi32(of_low, four_quants, four(low + i));
    }
  }
  __m512i sum = _mm512_add_epi32(_mm512_slli_epi32(of_high, 8), of_low);
  if constexpr (F::kOffset != 0) {
    sum =
        _mm512_add_epi32(sum, _mm512_set1_epi32(F::kOffset * x.sums()[input / 16] +
                                                (kInputs == 32 ? F::kOffset * x.sums()[input / 16 + 1] : 0)));
  }
  return _mm512_cvtepi32_ps(sum);
}

/// Sum of the row's own values over a sub-unit.
template <class F>
inline __m512 row_sum(const PackedRow& x, std::ptrdiff_t unit, int sub) {
  const std::int32_t* sums = x.sums() + 2 * unit;
  const std::int32_t whole = F::kSubUnits == 2 ? sums[sub] : sums[0] + sums[1];
  return _mm512_set1_ps(static_cast<float>(whole) * x.scales()[unit]);
}

template <class F>
void product(const PackedGroup& group, const PackedRow& x, float* y) {
  const std::uint8_t* quants = group.quants;
  const std::byte* scales = group.scales;
  __m512 result = _mm512_setzero_ps();
  for (std::ptrdiff_t unit = 0; unit < x.n_units();) {
    const __m512 scale = halves(scales);
    const __m512 minimum = F::kMinimum ? halves(scales + 32) : _mm512_setzero_ps();
    scales += F::kHalvesBytes;
    __m512 scaled = _mm512_setzero_ps();
    __m512 least = _mm512_setzero_ps();
    for (int i = 0; i < F::kUnitsPerBlock; ++i, ++unit, scales += F::kSubBytes) {
      const __m512 step = _mm512_set1_ps(x.scales()[unit]);
      for (int sub = 0; sub < F::kSubUnits; ++sub, quants += F::kUnitBytes / F::kSubUnits) {
        const __m512 sum = sub_unit<F>(quants, x, unit * 32 + sub * 16);
        if constexpr (F::kNested) {
          scaled = _mm512_fmadd_ps(_mm512_mul_ps(sum, step), signed_bytes(scales + sub * 16), scaled);
        } else {
          scaled = _mm512_mul_ps(sum, step);
        }
        if constexpr (F::kMinimum && F::kNested) {
          const __m512 sub_minimum = unsigned_bytes(scales + (F::kSubUnits + sub) * 16);
          least = _mm512_fmadd_ps(sub_minimum, row_sum<F>(x, unit, sub), least);
        } else if constexpr (F::kMinimum) {
          least = row_sum<F>(x, unit, sub);
        }
      }
    }
    result = _mm512_fmadd_ps(scaled, scale, result);
    if constexpr (F::kMinimum) result = _mm512_fmadd_ps(least, minimum, result);
  }
  _mm512_storeu_ps(y, result);
}

}  // namespace

GroupProduct group_product_avx512(TensorType type) {
  return with_format(type, []<class F>(F) -> GroupProduct { return product<F>; });
}

}  // namespace kvboost::engine

#pragma GCC pop_options
