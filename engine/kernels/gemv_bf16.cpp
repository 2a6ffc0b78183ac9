// SPDX-License-Identifier: Apache-2.0
// The bfloat16 row times matrix, for CPUs with AVX512-BF16; see attention_bf16.cpp on the target pragma.
#include <immintrin.h>

#include "engine/kernels/gemv.h"

#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512vl,avx512dq,avx512bf16,avx2,fma,prefer-vector-width=512")

namespace kvboost::engine {
namespace {

constexpr int kPairs = 32;  // bfloat16 in a vector

inline __m512bh load(const BFloat16* at, __mmask32 mask) {
  return reinterpret_cast<__m512bh>(_mm512_maskz_loadu_epi16(mask, at));
}

template <int Rows>
void multiply_rows(const BFloat16* w, const BFloat16* x, std::int32_t n, float* y) {
  __m512 sum[Rows];
  for (auto& s : sum) s = _mm512_setzero_ps();
  for (std::int32_t i = 0; i < n; i += kPairs) {
    const __mmask32 mask = n - i >= kPairs ? 0xFFFFFFFFU : 0xFFFFU;
    const __m512bh part = load(x + i, mask);
    for (int r = 0; r < Rows; ++r) {
      sum[r] = _mm512_dpbf16_ps(sum[r], load(w + static_cast<std::ptrdiff_t>(r) * n + i, mask), part);
    }
  }
  for (int r = 0; r < Rows; ++r) y[r] = _mm512_reduce_add_ps(sum[r]);
}

}  // namespace

void gemv(const BFloat16* w, const BFloat16* x, std::int32_t n_rows, std::int32_t n, float* y) {
  constexpr int kRows = 4;
  std::int32_t r = 0;
  for (; r + kRows <= n_rows; r += kRows)
    multiply_rows<kRows>(w + static_cast<std::ptrdiff_t>(r) * n, x, n, y + r);
  for (; r < n_rows; ++r) multiply_rows<1>(w + static_cast<std::ptrdiff_t>(r) * n, x, n, y + r);
}

}  // namespace kvboost::engine

#pragma GCC pop_options
