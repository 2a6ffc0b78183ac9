// SPDX-License-Identifier: Apache-2.0
// The float32 row times matrix, compiled once for each instruction set (Highway) and chosen at run time.
#include "engine/kernels/gemv.h"

// Highway's order: this file is included anew for each target.
// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/kernels/gemv_f32.cpp"
#include <hwy/foreach_target.h>
#include "engine/kernels/simd-inl.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace kvboost::engine {
namespace HWY_NAMESPACE {

template <int Rows>
HWY_INLINE void multiply_rows(const float* w, const float* x, std::int32_t n, float* y) {
  const auto lanes = static_cast<std::int32_t>(hn::Lanes(FloatTag()));
  FloatVector sum[Rows];
  for (auto& s : sum) s = hn::Zero(FloatTag());
  for (std::int32_t i = 0; i < n; i += lanes) {
    const auto part = load(x + i);
    for (int r = 0; r < Rows; ++r)
      sum[r] = hn::MulAdd(load(w + static_cast<std::ptrdiff_t>(r) * n + i), part, sum[r]);
  }
  for (int r = 0; r < Rows; ++r) y[r] = sum_of(sum[r]);
}

void GemvF32(const float* w, const float* x, std::int32_t n_rows, std::int32_t n, float* y) {
  constexpr int kRows = 4;
  std::int32_t r = 0;
  for (; r + kRows <= n_rows; r += kRows)
    multiply_rows<kRows>(w + static_cast<std::ptrdiff_t>(r) * n, x, n, y + r);
  for (; r < n_rows; ++r) multiply_rows<1>(w + static_cast<std::ptrdiff_t>(r) * n, x, n, y + r);
}

}  // namespace HWY_NAMESPACE
}  // namespace kvboost::engine
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kvboost::engine {

HWY_EXPORT(GemvF32);

void gemv(const float* w, const float* x, std::int32_t n_rows, std::int32_t n, float* y) {
  HWY_DYNAMIC_DISPATCH(GemvF32)(w, x, n_rows, n, y);
}

}  // namespace kvboost::engine
#endif
