// SPDX-License-Identifier: Apache-2.0
// Two vectors of 8 lanes are a group's 16 outputs. Products of quants and the values' parts are added up in
// 16 bits for as long as they fit, then in 32.
#include <immintrin.h>

#include <algorithm>
#include <cstring>

#include "engine/kernels/packed_group.h"
#include "engine/kernels/packed_matrix.h"

#pragma GCC push_options
#pragma GCC target("avx2,fma,f16c")

namespace kvboost::engine {
namespace {

constexpr int kLanes = 8;

/// Four neighbouring values of the row in every lane.
inline __m256i four(const std::int8_t* at) {
  std::int32_t bits = 0;
  std::memcpy(&bits, at, sizeof bits);
  return _mm256_set1_epi32(bits);
}

inline __m256 halves(const std::byte* at) {
  return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(at)));
}

inline __m256 signed_bytes(const std::byte* at) {
  return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(at))));
}

inline __m256 unsigned_bytes(const std::byte* at) {
  return _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(at))));
}

/// Adds up quants of kBits times one part of the values.
template <int kBits>
class Sum {
 public:
  // Spelt out: what the compiler makes by itself isn't compiled for AVX2.
  Sum() : narrow_(_mm256_setzero_si256()), wide_(_mm256_setzero_si256()) {}

  void add(__m256i quants, __m256i values) {
    narrow_ = _mm256_add_epi16(narrow_, _mm256_maddubs_epi16(quants, values));
    if (++held_ == kHolds) flush();
  }
  __m256i total() {
    flush();
    return wide_;
  }

 private:
  // A product of maddubs is two quants by two parts of at most 128.
  static constexpr int kHolds = 32767 / (((1 << kBits) - 1) * 128 * 2);
  static_assert(kHolds >= 1);

  void flush() {
    wide_ = _mm256_add_epi32(wide_, _mm256_madd_epi16(narrow_, _mm256_set1_epi16(1)));
    narrow_ = _mm256_setzero_si256();
    held_ = 0;
  }

  __m256i narrow_;
  __m256i wide_;
  int held_ = 0;
};

/// The same over both parts.
template <int kBits>
class Sums {
 public:
  Sums() : high_(), low_() {}
  void add(__m256i quants, const std::int8_t* high, const std::int8_t* low) {
    high_.add(quants, four(high));
    low_.add(quants, four(low));
  }
  __m256i total() { return _mm256_add_epi32(_mm256_slli_epi32(high_.total(), 8), low_.total()); }

 private:
  Sum<kBits> high_, low_;
};

/// Sum of quants times whole numbers over a sub-unit's inputs, which begin at `input` of the row.
template <class F>
inline __m256 sub_unit(const std::uint8_t* quants, const PackedRow& x, std::ptrdiff_t input) {
  constexpr int kInputs = 32 / F::kSubUnits;
  const std::int8_t* high = x.high() + input;
  const std::int8_t* low = x.low() + input;
  const __m256i mask = _mm256_set1_epi8(15);
  const auto low_nibbles = [&](__m256i bytes) { return _mm256_and_si256(bytes, mask); };
  const auto high_nibbles = [&](__m256i bytes) {
    return _mm256_and_si256(_mm256_srli_epi16(bytes, 4), mask);
  };
  __m256i sum = _mm256_setzero_si256();
  if constexpr (F::kNibbles) {
    Sums<4> sums;
#pragma GCC unroll 4
    for (int i = 0; i < kInputs; i += 8, quants += 64) {
      const __m256i both = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(quants));
      sums.add(low_nibbles(both), high + i, low + i);
      sums.add(high_nibbles(both), high + i + 4, low + i + 4);
    }
    sum = sums.total();
  } else if constexpr (F::kBits < 8) {
    Sums<F::kBits> sums;
#pragma GCC unroll 8
    for (int i = 0; i < kInputs; i += 4, quants += 64) {
      sums.add(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(quants)), high + i, low + i);
    }
    sum = sums.total();
  } else {  // 255 times 128, twice, is too much for 16 bits: nibble by nibble
    Sums<4> of_low;
    Sums<4> of_high;
#pragma GCC unroll 8
    for (int i = 0; i < kInputs; i += 4, quants += 64) {
      const __m256i bytes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(quants));
      of_low.add(low_nibbles(bytes), high + i, low + i);
      of_high.add(high_nibbles(bytes), high + i, low + i);
    }
    sum = _mm256_add_epi32(_mm256_slli_epi32(of_high.total(), 4), of_low.total());
  }
  if constexpr (F::kOffset != 0) {
    const std::int32_t* sums = x.sums() + input / 16;
    sum = _mm256_add_epi32(sum, _mm256_set1_epi32(F::kOffset * (sums[0] + (kInputs == 32 ? sums[1] : 0))));
  }
  return _mm256_cvtepi32_ps(sum);
}

/// Sum of the row's own values over a sub-unit.
template <class F>
inline __m256 row_sum(const PackedRow& x, std::ptrdiff_t unit, int sub) {
  const std::int32_t* sums = x.sums() + 2 * unit;
  const std::int32_t whole = F::kSubUnits == 2 ? sums[sub] : sums[0] + sums[1];
  return _mm256_set1_ps(static_cast<float>(whole) * x.scales()[unit]);
}

/// The 8 outputs from lane `first` on.
template <class F>
void half_product(const PackedGroup& group, int first, const PackedRow& x, float* y) {
  const std::uint8_t* quants = group.quants + first * 4;
  const std::byte* scales = group.scales;
  __m256 result = _mm256_setzero_ps();
  for (std::ptrdiff_t unit = 0; unit < x.n_units();) {
    const __m256 scale = halves(scales + 2 * first);
    const __m256 minimum = F::kMinimum ? halves(scales + 32 + 2 * first) : _mm256_setzero_ps();
    scales += F::kHalvesBytes;
    __m256 scaled = _mm256_setzero_ps();
    __m256 least = _mm256_setzero_ps();
    for (int i = 0; i < F::kUnitsPerBlock; ++i, ++unit, scales += F::kSubBytes) {
      const __m256 step = _mm256_set1_ps(x.scales()[unit]);
      for (int sub = 0; sub < F::kSubUnits; ++sub, quants += F::kUnitBytes / F::kSubUnits) {
        const __m256 sum = sub_unit<F>(quants, x, unit * 32 + sub * 16);
        if constexpr (F::kNested) {
          scaled = _mm256_fmadd_ps(_mm256_mul_ps(sum, step), signed_bytes(scales + sub * 16 + first), scaled);
        } else {
          scaled = _mm256_mul_ps(sum, step);
        }
        if constexpr (F::kMinimum && F::kNested) {
          const __m256 sub_minimum = unsigned_bytes(scales + (F::kSubUnits + sub) * 16 + first);
          least = _mm256_fmadd_ps(sub_minimum, row_sum<F>(x, unit, sub), least);
        } else if constexpr (F::kMinimum) {
          least = row_sum<F>(x, unit, sub);
        }
      }
    }
    result = _mm256_fmadd_ps(scaled, scale, result);
    if constexpr (F::kMinimum) result = _mm256_fmadd_ps(least, minimum, result);
  }
  _mm256_storeu_ps(y + first, result);
}

template <class F>
void product(const PackedGroup& group, const PackedRow& x, float* y) {
  half_product<F>(group, 0, x, y);
  half_product<F>(group, kLanes, x, y);
}

}  // namespace

GroupProduct group_product_avx2(TensorType type) {
  return with_format(type, []<class F>(F) -> GroupProduct { return product<F>; });
}

}  // namespace kvboost::engine

#pragma GCC pop_options
