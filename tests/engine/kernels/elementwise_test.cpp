// SPDX-License-Identifier: Apache-2.0
// The small steps, on each instruction set, against their formulas in double.
#include "engine/kernels/elementwise.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "engine/cpu.h"
#include "engine/kernels/gemv.h"
#include "tests/engine/kernels/each_target.h"

namespace kvboost::engine {
namespace {

std::vector<float> draw(std::size_t n, float scale = 1.0F) {
  std::mt19937 random(static_cast<unsigned>(n));
  std::normal_distribution<float> normal(0.0F, scale);
  std::vector<float> values(n);
  for (float& value : values) value = normal(random);
  return values;
}

template <class T>
std::vector<T> narrowed(const std::vector<float>& values) {
  std::vector<T> out;
  for (const float value : values) out.push_back(narrow<T>(value));
  return out;
}

template <class T>
constexpr double kTolerance =
    std::is_same_v<T, float> ? 2e-6 : 4.1e-3;  // relative, half a unit in the last place

template <class T>
void expect_near(T got, double expected) {
  EXPECT_NEAR(to_float(got), expected, kTolerance<T> * std::max(1e-3, std::abs(expected)));
}

using Elementwise = test::EachTarget;
INSTANTIATE_TEST_SUITE_P(Targets, Elementwise, ::testing::ValuesIn(test::targets_here()), test::target_name);

template <class T>
void check_rms_norm() {
  const auto x = draw(96, 3.0F), weight = draw(112);
  std::vector<T> out(96);
  rms_norm(x.data(), weight.data(), 96, 1e-5F, out.data());
  double squares = 0.0;
  for (const float value : x) squares += static_cast<double>(value) * value;
  for (int i = 0; i < 96; ++i) expect_near(out[i], x[i] / std::sqrt(squares / 96 + 1e-5) * weight[i]);
}

TEST_P(Elementwise, RmsNorm) {
  check_rms_norm<float>();
  check_rms_norm<BFloat16>();
}

template <class T>
void check_gate() {
  auto in = draw(64, 4.0F);
  in[0] = -200.0F;  // far out, exp overflows
  in[1] = 200.0F;
  const auto gates = narrowed<T>(in), up = narrowed<T>(draw(80));
  std::vector<T> out(64);
  gate(gates.data(), up.data(), 64, Activation::kSilu, out.data());
  for (int i = 0; i < 64; ++i) {
    const double g = to_float(gates[i]);
    EXPECT_NEAR(to_float(out[i]), g / (1 + std::exp(-g)) * to_float(up[i]),
                kTolerance<T> * std::max(1e-3, std::abs(g * to_float(up[i]))));
  }
  gate(gates.data(), up.data(), 64, Activation::kGelu, out.data());
  for (int i = 0; i < 64; ++i) {
    const double g = to_float(gates[i]);
    const double gelu = 0.5 * g * (1 + std::tanh(std::sqrt(2 / M_PI) * (g + 0.044715 * g * g * g)));
    EXPECT_NEAR(to_float(out[i]), gelu * to_float(up[i]), kTolerance<T> * std::max(0.1, std::abs(gelu)) * 2);
  }
}

TEST_P(Elementwise, Gate) {
  check_gate<float>();
  check_gate<BFloat16>();
}

template <class T>
void check_rotate(RopeLayout layout) {
  constexpr int kDim = 48, kRotated = 32;
  const auto in = narrowed<T>(draw(kDim)), angle = narrowed<T>(draw(kRotated / 2));
  std::vector<float> cosine, sine;
  for (const T a : angle) {
    cosine.push_back(std::cos(to_float(a)));
    sine.push_back(std::sin(to_float(a)));
  }
  std::vector<T> out(kDim);
  rotate(in.data(), cosine.data(), sine.data(), layout, kRotated, kDim, 0.5F, out.data());
  for (int i = 0; i < kRotated / 2; ++i) {
    const int a = layout == RopeLayout::kInterleaved ? 2 * i : i;
    const int b = layout == RopeLayout::kInterleaved ? 2 * i + 1 : i + kRotated / 2;
    const double x = to_float(in[a]), y = to_float(in[b]);
    EXPECT_NEAR(to_float(out[a]), 0.5 * (x * cosine[i] - y * sine[i]), kTolerance<T> * 2);
    EXPECT_NEAR(to_float(out[b]), 0.5 * (x * sine[i] + y * cosine[i]), kTolerance<T> * 2);
  }
  for (int i = kRotated; i < kDim; ++i) expect_near(out[i], 0.5 * to_float(in[i]));
}

TEST_P(Elementwise, Rotate) {
  check_rotate<float>(RopeLayout::kInterleaved);
  check_rotate<float>(RopeLayout::kHalves);
  check_rotate<BFloat16>(RopeLayout::kInterleaved);
  check_rotate<BFloat16>(RopeLayout::kHalves);
}

TEST_P(Elementwise, RoundsAndWidensAsTheScalarsDo) {
  auto values = draw(62, 100.0F);
  values.push_back(std::numeric_limits<float>::infinity());
  values.push_back(std::numeric_limits<float>::quiet_NaN());
  values[0] = 1.00390625F;  // half-way between two bfloat16: to even
  values[1] = 1.01171875F;
  std::vector<BFloat16> rounded(values.size());
  std::vector<float> back(values.size());
  round_to(values.data(), 64, rounded.data());
  widen(rounded.data(), 64, back.data());
  for (int i = 0; i < 63; ++i) {
    EXPECT_EQ(rounded[i].bits, to_bfloat16(values[i]).bits) << values[i];
    EXPECT_EQ(back[i], to_float(rounded[i]));
  }
  EXPECT_EQ(rounded[0].bits, 0x3F80);
  EXPECT_EQ(rounded[1].bits, 0x3F82);
  EXPECT_TRUE(std::isnan(back[63]));
}

TEST_P(Elementwise, Add) {
  auto x = draw(32);
  const auto before = x;
  const auto y = narrowed<BFloat16>(draw(48));
  add(x.data(), y.data(), 32);
  for (int i = 0; i < 32; ++i) EXPECT_FLOAT_EQ(x[i], before[i] + to_float(y[i]));
}

template <class T>
void check_gemv() {
  for (const int n : {16, 48, 96, 576}) {
    constexpr int kRows = 7;
    const auto w = narrowed<T>(draw(static_cast<std::size_t>(kRows) * n)), x = narrowed<T>(draw(n + 1));
    std::vector<float> y(kRows);
    gemv(w.data(), x.data(), kRows, n, y.data());
    for (int r = 0; r < kRows; ++r) {
      double expected = 0.0;
      for (int i = 0; i < n; ++i) expected += static_cast<double>(to_float(w[r * n + i])) * to_float(x[i]);
      EXPECT_NEAR(y[r], expected, 1e-4);
    }
  }
}

TEST_P(Elementwise, GemvF32) {
  check_gemv<float>();
}

TEST(GemvBf16, EqualsPlainSums) {
  if (!has_bfloat16()) GTEST_SKIP() << "this CPU has no AVX512-BF16";
  check_gemv<BFloat16>();
}

}  // namespace
}  // namespace kvboost::engine
