// SPDX-License-Identifier: Apache-2.0
// The small steps between matrix products, compiled once for each instruction set and chosen at run time.
#include "engine/kernels/elementwise.h"

#include <algorithm>
#include <cmath>

// Highway's order: this file is included anew for each target.
// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/kernels/elementwise.cpp"
#include <hwy/foreach_target.h>
#include "engine/kernels/simd-inl.h"
#include <hwy/contrib/math/math-inl.h>
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace kvboost::engine {
namespace HWY_NAMESPACE {

template <class T>
HWY_INLINE void rms_norm_any(const float* x, const float* weight, std::int32_t n, float eps, T* out) {
  const FloatTag d;
  const auto lanes = static_cast<std::int32_t>(hn::Lanes(d));
  auto squares = hn::Zero(d);
  for (std::int32_t i = 0; i < n; i += lanes) squares = hn::MulAdd(load(x + i), load(x + i), squares);
  const auto scale = hn::Set(d, 1.0F / std::sqrt(sum_of(squares) / static_cast<float>(n) + eps));
  for (std::int32_t i = 0; i < n; i += lanes) {
    store(hn::Mul(hn::Mul(load(x + i), scale), load(weight + i)), out + i);
  }
}

template <class In, class Out>
HWY_INLINE void convert_any(const In* in, std::int32_t n, Out* out) {
  const auto lanes = static_cast<std::int32_t>(hn::Lanes(FloatTag()));
  for (std::int32_t i = 0; i < n; i += lanes) store(load(in + i), out + i);
}

template <class T>
HWY_INLINE void add_any(float* x, const T* y, std::int32_t n) {
  const auto lanes = static_cast<std::int32_t>(hn::Lanes(FloatTag()));
  for (std::int32_t i = 0; i < n; i += lanes) store(hn::Add(load(x + i), load(y + i)), x + i);
}

HWY_INLINE FloatVector silu(FloatVector x) {
  const FloatTag d;
  const auto least = hn::Set(d, -87.0F);  // Highway's exponential wraps round beyond 88
  return hn::Div(x, hn::Add(hn::Set(d, 1.0F), hn::Exp(d, hn::Neg(hn::Max(x, least)))));
}

/// The tanh form, as Gemma was trained with.
HWY_INLINE FloatVector gelu(FloatVector x) {
  const FloatTag d;
  const auto cubic = hn::MulAdd(hn::Mul(x, x), hn::Mul(x, hn::Set(d, 0.044715F)), x);
  const auto inner = hn::Mul(cubic, hn::Set(d, 0.7978845608F));
  return hn::Mul(hn::Mul(x, hn::Set(d, 0.5F)), hn::Add(hn::Set(d, 1.0F), hn::Tanh(d, inner)));
}

template <class T>
HWY_INLINE void gate_any(const T* gate, const T* up, std::int32_t n, Activation activation, T* out) {
  const auto lanes = static_cast<std::int32_t>(hn::Lanes(FloatTag()));
  if (activation == Activation::kSilu) {
    for (std::int32_t i = 0; i < n; i += lanes) store(hn::Mul(silu(load(gate + i)), load(up + i)), out + i);
  } else {
    for (std::int32_t i = 0; i < n; i += lanes) store(hn::Mul(gelu(load(gate + i)), load(up + i)), out + i);
  }
}

/// `head` is float32 and at most kMostHeadDim long: it is turned in place.
HWY_INLINE void turn_halves(float* head, const float* cosine, const float* sine, std::int32_t half) {
  for (std::int32_t i = 0; i < half; ++i) {
    const float a = head[i];
    const float b = head[i + half];
    head[i] = a * cosine[i] - b * sine[i];
    head[i + half] = a * sine[i] + b * cosine[i];
  }
}

HWY_INLINE void turn_pairs(float* head, const float* cosine, const float* sine, std::int32_t half) {
  for (std::int32_t i = 0; i < half; ++i) {
    const float a = head[2 * i];
    const float b = head[2 * i + 1];
    head[2 * i] = a * cosine[i] - b * sine[i];
    head[2 * i + 1] = a * sine[i] + b * cosine[i];
  }
}

constexpr std::int32_t kMostHeadDim = 512;

template <class T>
HWY_INLINE void rotate_any(const T* in, const float* cosine, const float* sine, RopeLayout layout,
                           std::int32_t n_rotated, std::int32_t head_dim, float scale, T* out) {
  HWY_ALIGN float head[kMostHeadDim];
  convert_any(in, head_dim, head);
  if (layout == RopeLayout::kHalves) {
    turn_halves(head, cosine, sine, n_rotated / 2);
  } else {
    turn_pairs(head, cosine, sine, n_rotated / 2);
  }
  const FloatTag d;
  const auto lanes = static_cast<std::int32_t>(hn::Lanes(d));
  for (std::int32_t i = 0; i < head_dim; i += lanes) {
    store(hn::Mul(load(head + i), hn::Set(d, scale)), out + i);
  }
}

#define KVBOOST_FOR_TYPE(Suffix, T)                                                                   \
  void RmsNorm##Suffix(const float* x, const float* w, std::int32_t n, float eps, T* out) {           \
    rms_norm_any(x, w, n, eps, out);                                                                  \
  }                                                                                                   \
  void Widen##Suffix(const T* in, std::int32_t n, float* out) {                                       \
    convert_any(in, n, out);                                                                          \
  }                                                                                                   \
  void RoundTo##Suffix(const float* in, std::int32_t n, T* out) {                                     \
    convert_any(in, n, out);                                                                          \
  }                                                                                                   \
  void Add##Suffix(float* x, const T* y, std::int32_t n) {                                            \
    add_any(x, y, n);                                                                                 \
  }                                                                                                   \
  void Gate##Suffix(const T* g, const T* up, std::int32_t n, Activation a, T* out) {                  \
    gate_any(g, up, n, a, out);                                                                       \
  }                                                                                                   \
  void Rotate##Suffix(const T* in, const float* c, const float* s, RopeLayout layout, std::int32_t n, \
                      std::int32_t head_dim, float scale, T* out) {                                   \
    rotate_any(in, c, s, layout, n, head_dim, scale, out);                                            \
  }
KVBOOST_FOR_TYPE(Bf16, BFloat16)
KVBOOST_FOR_TYPE(F32, float)
#undef KVBOOST_FOR_TYPE

const char* TargetName() {
  return hwy::TargetName(HWY_TARGET);
}

}  // namespace HWY_NAMESPACE
}  // namespace kvboost::engine
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kvboost::engine {

HWY_EXPORT(TargetName);

#define KVBOOST_FOR_TYPE(Suffix, T)                                                                  \
  HWY_EXPORT(RmsNorm##Suffix);                                                                       \
  HWY_EXPORT(Widen##Suffix);                                                                         \
  HWY_EXPORT(RoundTo##Suffix);                                                                       \
  HWY_EXPORT(Add##Suffix);                                                                           \
  HWY_EXPORT(Gate##Suffix);                                                                          \
  HWY_EXPORT(Rotate##Suffix);                                                                        \
  void rms_norm(const float* x, const float* weight, std::int32_t n, float eps, T* out) {            \
    HWY_DYNAMIC_DISPATCH(RmsNorm##Suffix)(x, weight, n, eps, out);                                   \
  }                                                                                                  \
  void widen(const T* in, std::int32_t n, float* out) {                                              \
    HWY_DYNAMIC_DISPATCH(Widen##Suffix)(in, n, out);                                                 \
  }                                                                                                  \
  void round_to(const float* in, std::int32_t n, T* out) {                                           \
    HWY_DYNAMIC_DISPATCH(RoundTo##Suffix)(in, n, out);                                               \
  }                                                                                                  \
  void add(float* x, const T* y, std::int32_t n) {                                                   \
    HWY_DYNAMIC_DISPATCH(Add##Suffix)(x, y, n);                                                      \
  }                                                                                                  \
  void gate(const T* g, const T* up, std::int32_t n, Activation activation, T* out) {                \
    HWY_DYNAMIC_DISPATCH(Gate##Suffix)(g, up, n, activation, out);                                   \
  }                                                                                                  \
  void rotate(const T* in, const float* cosine, const float* sine, RopeLayout layout,                \
              std::int32_t n_rotated, std::int32_t head_dim, float scale, T* out) {                  \
    HWY_DYNAMIC_DISPATCH(Rotate##Suffix)(in, cosine, sine, layout, n_rotated, head_dim, scale, out); \
  }
KVBOOST_FOR_TYPE(Bf16, BFloat16)
KVBOOST_FOR_TYPE(F32, float)
#undef KVBOOST_FOR_TYPE

const char* simd_target() {
  return HWY_DYNAMIC_DISPATCH(TargetName)();
}

}  // namespace kvboost::engine
#endif
