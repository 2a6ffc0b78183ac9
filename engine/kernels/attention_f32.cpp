// SPDX-License-Identifier: Apache-2.0
// The float32 attention kernel, compiled once for each instruction set (Highway) and chosen at run time. The
// same walk as the bfloat16 one: six rows over a tile of 64 keys, a running softmax, then the values.
#include <algorithm>
#include <cstring>

#include "engine/kernels/attention.h"

// Highway's order: this file is included anew for each target.
// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/kernels/attention_f32.cpp"
#include <hwy/foreach_target.h>
#include "engine/kernels/simd-inl.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace kvboost::engine {
namespace HWY_NAMESPACE {

constexpr int kMostRows = 6;
constexpr float kHidden = -3e38F;

/// 2^x, relative error 1e-7; 0 for x below -126.
HWY_INLINE FloatVector power_of_two(FloatVector x) {
  const FloatTag d;
  const hn::RebindToSigned<FloatTag> integers;
  const auto clamped = hn::Max(x, hn::Set(d, -126.0F));
  const auto whole = hn::Floor(clamped);
  const auto fraction = hn::Sub(clamped, whole);
  auto p = hn::Set(d, 0.00021612925F);
  p = hn::MulAdd(p, fraction, hn::Set(d, 0.00124678435F));
  p = hn::MulAdd(p, fraction, hn::Set(d, 0.00967545155F));
  p = hn::MulAdd(p, fraction, hn::Set(d, 0.05548528209F));
  p = hn::MulAdd(p, fraction, hn::Set(d, 0.24022930861F));
  p = hn::MulAdd(p, fraction, hn::Set(d, 0.69314706326F));
  p = hn::MulAdd(p, fraction, hn::Set(d, 1.0F));
  const auto exponent = hn::ShiftLeft<23>(hn::ConvertTo(integers, whole));
  const auto result = hn::BitCast(d, hn::Add(hn::BitCast(integers, p), exponent));
  return hn::IfThenElse(hn::Lt(x, hn::Set(d, -126.0F)), hn::Zero(d), result);
}

/// c(Rows, columns) += a(Rows, depth) * b(depth, columns), two vectors of columns at a time.
template <int Rows>
HWY_INLINE void multiply_add(const float* a, std::size_t lda, const float* b, std::size_t ldb, int depth,
                             int columns, float* c, std::size_t ldc) {
  const FloatTag d;
  const auto lanes = static_cast<int>(hn::Lanes(d));
  int column = 0;
  for (; column + 2 * lanes <= columns; column += 2 * lanes) {
    FloatVector sum[Rows][2];
    for (int r = 0; r < Rows; ++r) {
      sum[r][0] = load(c + r * ldc + column);
      sum[r][1] = load(c + r * ldc + column + lanes);
    }
    for (int k = 0; k < depth; ++k) {
      const auto left = load(b + k * ldb + column);
      const auto right = load(b + k * ldb + column + lanes);
      for (int r = 0; r < Rows; ++r) {
        const auto row = hn::Set(d, a[r * lda + k]);
        sum[r][0] = hn::MulAdd(row, left, sum[r][0]);
        sum[r][1] = hn::MulAdd(row, right, sum[r][1]);
      }
    }
    for (int r = 0; r < Rows; ++r) {
      store(sum[r][0], c + r * ldc + column);
      store(sum[r][1], c + r * ldc + column + lanes);
    }
  }
  for (; column < columns; column += lanes) {
    for (int r = 0; r < Rows; ++r) {
      auto sum = load(c + r * ldc + column);
      for (int k = 0; k < depth; ++k) {
        sum = hn::MulAdd(hn::Set(d, a[r * lda + k]), load(b + k * ldb + column), sum);
      }
      store(sum, c + r * ldc + column);
    }
  }
}

/// Scores of cells that the row does not see, out of reach.
HWY_INLINE void hide(VisibleCells visible, int tile, float* scores) {
  const int cell = tile * kTileCells;
  const int first = std::clamp(visible.first - cell, 0, kTileCells);
  const int end = std::clamp(visible.last + 1 - cell, 0, kTileCells);
  std::fill(scores, scores + first, kHidden);
  std::fill(scores + std::max(first, end), scores + kTileCells, kHidden);
}

/// Turns one row's scores over a tile into weights, after moving the row's reference where needed.
HWY_INLINE void weigh_row(const AttentionUnit<float>& unit, int row, int tile, float* scores) {
  const FloatTag d;
  const auto lanes = static_cast<int>(hn::Lanes(d));
  hide(unit.visible[row], tile, scores);
  auto most = load(scores);
  for (int i = lanes; i < kTileCells; i += lanes) most = hn::Max(most, load(scores + i));
  const float largest = hn::GetLane(hn::MaxOfLanes(d, most));
  if (largest > unit.reference[row]) {
    const auto factor = power_of_two(hn::Set(d, unit.reference[row] - largest));
    float* output = unit.output + static_cast<std::ptrdiff_t>(row) * unit.tiles.head_dim;
    for (int i = 0; i < unit.tiles.head_dim; i += lanes) store(hn::Mul(load(output + i), factor), output + i);
    unit.weight[row] *= hn::GetLane(factor);
    unit.reference[row] = largest;
  }
  auto sum = hn::Zero(d);
  const auto reference = hn::Set(d, unit.reference[row]);
  for (int i = 0; i < kTileCells; i += lanes) {
    const auto weight = power_of_two(hn::Sub(load(scores + i), reference));
    sum = hn::Add(sum, weight);
    store(weight, scores + i);
  }
  unit.weight[row] += sum_of(sum);
}

template <int Rows>
HWY_INLINE void attend_rows(const AttentionUnit<float>& unit, int row, int tile) {
  const int head_dim = unit.tiles.head_dim;
  const auto offset = static_cast<std::ptrdiff_t>(row) * head_dim;
  HWY_ALIGN float scores[Rows * kTileCells] = {};
  multiply_add<Rows>(unit.queries + offset, head_dim, unit.tiles.keys(unit.head, tile), kTileCells, head_dim,
                     kTileCells, scores, kTileCells);
  for (int r = 0; r < Rows; ++r) weigh_row(unit, row + r, tile, scores + r * kTileCells);
  multiply_add<Rows>(scores, kTileCells, unit.tiles.values(unit.head, tile), head_dim, kTileCells, head_dim,
                     unit.output + offset, head_dim);
}

template <int Rows>
HWY_INLINE void share_rows(const ShareUnit<float>& unit, int row, int tile) {
  const FloatTag d;
  const auto lanes = static_cast<int>(hn::Lanes(d));
  const int head_dim = unit.tiles.head_dim;
  HWY_ALIGN float scores[Rows * kTileCells] = {};
  multiply_add<Rows>(unit.queries + static_cast<std::ptrdiff_t>(row) * head_dim, head_dim,
                     unit.tiles.keys(unit.head, tile), kTileCells, head_dim, kTileCells, scores, kTileCells);
  for (int r = 0; r < Rows; ++r) hide(unit.visible[row + r], tile, scores + r * kTileCells);
  float* shares = unit.shares + (tile - unit.tile_begin) * kTileCells;
  for (int i = 0; i < kTileCells; i += lanes) {
    auto sum = load(shares + i);
    for (int r = 0; r < Rows; ++r) {
      const auto log_weight = hn::Set(d, unit.log_weight[row + r]);
      sum = hn::Add(sum, power_of_two(hn::Sub(load(scores + r * kTileCells + i), log_weight)));
    }
    store(sum, shares + i);
  }
}

template <int Rows>
HWY_INLINE void sum_rows(const LogSumUnit<float>& unit, int row) {
  const FloatTag d;
  const auto lanes = static_cast<int>(hn::Lanes(d));
  HWY_ALIGN float scores[Rows * kTileCells] = {};
  multiply_add<Rows>(unit.queries + static_cast<std::ptrdiff_t>(row) * unit.width, unit.width, unit.keys,
                     kTileCells, unit.width, kTileCells, scores, kTileCells);
  for (int r = 0; r < Rows; ++r) {
    float* of_row = scores + r * kTileCells;
    hide({0, unit.n_keys - 1}, 0, of_row);
    float& reference = unit.reference[row + r];
    float& weight = unit.weight[row + r];
    auto most = load(of_row);
    for (int i = lanes; i < kTileCells; i += lanes) most = hn::Max(most, load(of_row + i));
    const float largest = hn::GetLane(hn::MaxOfLanes(d, most));
    if (largest > reference) {
      weight *= hn::GetLane(power_of_two(hn::Set(d, reference - largest)));
      reference = largest;
    }
    auto sum = hn::Zero(d);
    for (int i = 0; i < kTileCells; i += lanes)
      sum = hn::Add(sum, power_of_two(hn::Sub(load(of_row + i), hn::Set(d, reference))));
    weight += sum_of(sum);
  }
}

void LogSumF32(const LogSumUnit<float>& unit) {
  int row = 0;
  for (; row + kMostRows <= unit.n_rows; row += kMostRows) sum_rows<kMostRows>(unit, row);
  for (; row < unit.n_rows; ++row) sum_rows<1>(unit, row);
}

void ShareF32(const ShareUnit<float>& unit) {
  for (int tile = unit.tile_begin; tile < unit.tile_end; ++tile) {
    int row = 0;
    for (; row + kMostRows <= unit.n_rows; row += kMostRows) share_rows<kMostRows>(unit, row, tile);
    for (; row < unit.n_rows; ++row) share_rows<1>(unit, row, tile);
  }
}

void AttendF32(const AttentionUnit<float>& unit) {
  std::fill_n(unit.output, static_cast<std::ptrdiff_t>(unit.n_rows) * unit.tiles.head_dim, 0.0F);
  std::fill_n(unit.reference, unit.n_rows, kNoReference);
  std::fill_n(unit.weight, unit.n_rows, 0.0F);
  for (int tile = unit.tile_begin; tile < unit.tile_end; ++tile) {
    int row = 0;
    for (; row + kMostRows <= unit.n_rows; row += kMostRows) attend_rows<kMostRows>(unit, row, tile);
    for (; row + 3 <= unit.n_rows; row += 3) attend_rows<3>(unit, row, tile);
    for (; row < unit.n_rows; ++row) attend_rows<1>(unit, row, tile);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace kvboost::engine
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kvboost::engine {

HWY_EXPORT(AttendF32);
HWY_EXPORT(LogSumF32);
HWY_EXPORT(ShareF32);

void attend(const AttentionUnit<float>& unit) {
  HWY_DYNAMIC_DISPATCH(AttendF32)(unit);
}
void add_shares(const ShareUnit<float>& unit) {
  HWY_DYNAMIC_DISPATCH(ShareF32)(unit);
}
void add_exponentials(const LogSumUnit<float>& unit) {
  HWY_DYNAMIC_DISPATCH(LogSumF32)(unit);
}

}  // namespace kvboost::engine
#endif
