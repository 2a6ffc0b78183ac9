// SPDX-License-Identifier: Apache-2.0
// The bfloat16 attention kernel, for CPUs with AVX512-BF16. Only functions below the target pragma hold such
// instructions, and they are entered only where the CPU has them. Pure, any thread.
//
// Six rows at a time go over a tile of 64 keys: their scores (6 x 64) stay in 24 registers through the
// exponential, are stored as 6 x 64 bfloat16, and multiply the values. A row's reference follows its largest
// score only when that outgrows it by 2^kSlack: the quotient at the end is the same, and most tiles need no
// rescaling.
#include <immintrin.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "engine/kernels/attention.h"

#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512vl,avx512dq,avx512bf16,avx2,fma,prefer-vector-width=512")

namespace kvboost::engine {
namespace {

constexpr int kRows = 6;
constexpr float kSlack = 8.0F;
constexpr float kHidden = -3e38F;
constexpr int kLanes = 16;

struct RowState {
  __m512 weight;
  float reference;
};

/// Two neighbouring bfloat16, to every lane.
inline __m512bh broadcast_pair(const BFloat16* at) {
  std::int32_t pair;
  std::memcpy(&pair, at, sizeof pair);
  return reinterpret_cast<__m512bh>(_mm512_set1_epi32(pair));
}

inline __m512bh load_pairs(const BFloat16* at) {
  return reinterpret_cast<__m512bh>(_mm512_loadu_si512(at));
}

/// c(Rows, 16 * Vectors) += a(Rows, 2 * pairs) * b(pairs, ldb / 2, 2).
template <int Rows, int Vectors>
inline __attribute__((always_inline)) void multiply_add(const BFloat16* a, std::size_t lda, const BFloat16* b,
                                                        std::size_t ldb, int pairs,
                                                        __m512 (&c)[Rows][Vectors]) {
  for (int p = 0; p < pairs; ++p) {
    __m512bh column[Vectors];
    for (int v = 0; v < Vectors; ++v) column[v] = load_pairs(b + v * 2 * kLanes);
    for (int r = 0; r < Rows; ++r) {
      const __m512bh row = broadcast_pair(a + r * lda + 2 * p);
      for (int v = 0; v < Vectors; ++v) c[r][v] = _mm512_dpbf16_ps(c[r][v], row, column[v]);
    }
    b += ldb;
  }
}

/// 2^x, relative error 3e-6: a bfloat16 result needs no more.
inline __m512 power_of_two(__m512 x) {
  const __m512 fraction = _mm512_reduce_ps(x, _MM_FROUND_TO_NEG_INF);  // x - floor(x)
  __m512 p = _mm512_set1_ps(0.01342669316F);
  p = _mm512_fmadd_ps(p, fraction, _mm512_set1_ps(0.05224245787F));
  p = _mm512_fmadd_ps(p, fraction, _mm512_set1_ps(0.24128021300F));
  p = _mm512_fmadd_ps(p, fraction, _mm512_set1_ps(0.69304484129F));
  p = _mm512_fmadd_ps(p, fraction, _mm512_set1_ps(1.0F));
  return _mm512_scalef_ps(p, x);  // p * 2^floor(x)
}

/// Takes a new reference for one row and scales what was summed under the old one.
__attribute__((noinline)) void raise_reference(RowState& state, __m512 largest, float* output, int head_dim) {
  const float reference = _mm512_reduce_max_ps(largest);
  const __m512 factor = power_of_two(_mm512_set1_ps(std::max(state.reference - reference, -200.0F)));
  state.weight = _mm512_mul_ps(state.weight, factor);
  for (int d = 0; d < head_dim; d += kLanes) {
    _mm512_storeu_ps(output + d, _mm512_mul_ps(_mm512_loadu_ps(output + d), factor));
  }
  state.reference = reference;
}

/// Lanes of the 16 cells from `cell` on that lie in `visible`.
inline __mmask16 visible_lanes(VisibleCells visible, int cell) {
  const int above = std::clamp(visible.last + 1 - cell, 0, kLanes);
  const int below = std::clamp(visible.first - cell, 0, kLanes);
  return static_cast<__mmask16>(((1U << above) - 1U) & ~((1U << below) - 1U));
}

/// output(Rows, columns of `Vectors`) += weights(Rows, 64) * values.
template <int Rows, int Vectors>
inline void add_values(const BFloat16* weights, const BFloat16* values, int head_dim, float* output) {
  __m512 sum[Rows][Vectors];
  for (int r = 0; r < Rows; ++r) {
    for (int v = 0; v < Vectors; ++v) sum[r][v] = _mm512_loadu_ps(output + r * head_dim + v * kLanes);
  }
  multiply_add<Rows, Vectors>(weights, kTileCells, values, 2 * static_cast<std::size_t>(head_dim),
                              kTileCells / 2, sum);
  for (int r = 0; r < Rows; ++r) {
    for (int v = 0; v < Vectors; ++v) _mm512_storeu_ps(output + r * head_dim + v * kLanes, sum[r][v]);
  }
}

/// (Rows, 64) products of queries and the keys of a tile.
template <int Rows>
inline __attribute__((always_inline)) void score_tile(const BFloat16* queries, const BFloat16* keys,
                                                      int head_dim, __m512 (&scores)[Rows][4]) {
  for (auto& of_row : scores) {
    for (auto& score : of_row) score = _mm512_setzero_ps();
  }
  multiply_add<Rows, 4>(queries, head_dim, keys, 2 * kTileCells, head_dim / 2, scores);
}

template <int Rows>
void attend_rows(const AttentionUnit<BFloat16>& unit, int row, int tile, RowState* states) {
  const int head_dim = unit.tiles.head_dim;
  const BFloat16* values = unit.tiles.values(unit.head, tile);
  const int cell = tile * kTileCells;
  float* output = unit.output + static_cast<std::ptrdiff_t>(row) * head_dim;

  __m512 scores[Rows][4];
  score_tile<Rows>(unit.queries + static_cast<std::ptrdiff_t>(row) * head_dim,
                   unit.tiles.keys(unit.head, tile), head_dim, scores);

  alignas(64) BFloat16 weights[Rows * kTileCells];
  for (int r = 0; r < Rows; ++r) {
    RowState& state = states[row + r];
    const VisibleCells visible = unit.visible[row + r];
    __m512* score = scores[r];
    if (visible.first > cell || visible.last < cell + kTileCells - 1) {
      for (int v = 0; v < 4; ++v) {
        score[v] =
            _mm512_mask_mov_ps(_mm512_set1_ps(kHidden), visible_lanes(visible, cell + v * kLanes), score[v]);
      }
    }
    const __m512 largest =
        _mm512_max_ps(_mm512_max_ps(score[0], score[1]), _mm512_max_ps(score[2], score[3]));
    if (_mm512_cmp_ps_mask(largest, _mm512_set1_ps(state.reference + kSlack), _CMP_GT_OQ) != 0) {
      raise_reference(state, largest, output + r * head_dim, head_dim);
    }
    const __m512 reference = _mm512_set1_ps(state.reference);
    for (int v = 0; v < 4; ++v) score[v] = power_of_two(_mm512_sub_ps(score[v], reference));
    state.weight = _mm512_add_ps(
        state.weight, _mm512_add_ps(_mm512_add_ps(score[0], score[1]), _mm512_add_ps(score[2], score[3])));
    for (int v = 0; v < 4; v += 2) {
      _mm512_store_si512(weights + r * kTileCells + v * kLanes,
                         reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(score[v + 1], score[v])));
    }
  }

  int d = 0;
  for (; d + 4 * kLanes <= head_dim; d += 4 * kLanes) {
    add_values<Rows, 4>(weights, values + 2 * d, head_dim, output + d);
  }
  for (; d < head_dim; d += kLanes) add_values<Rows, 1>(weights, values + 2 * d, head_dim, output + d);
}

template <int Rows>
void share_rows(const ShareUnit<BFloat16>& unit, int row, int tile) {
  const int head_dim = unit.tiles.head_dim;
  __m512 scores[Rows][4];
  score_tile<Rows>(unit.queries + static_cast<std::ptrdiff_t>(row) * head_dim,
                   unit.tiles.keys(unit.head, tile), head_dim, scores);
  float* shares = unit.shares + (tile - unit.tile_begin) * kTileCells;
  for (int v = 0; v < 4; ++v) {
    __m512 sum = _mm512_loadu_ps(shares + v * kLanes);
    for (int r = 0; r < Rows; ++r) {
      const __mmask16 lanes = visible_lanes(unit.visible[row + r], tile * kTileCells + v * kLanes);
      const __m512 log_weight = _mm512_set1_ps(unit.log_weight[row + r]);
      sum = _mm512_mask_add_ps(sum, lanes, sum, power_of_two(_mm512_sub_ps(scores[r][v], log_weight)));
    }
    _mm512_storeu_ps(shares + v * kLanes, sum);
  }
}

template <int Rows>
void sum_rows(const LogSumUnit<BFloat16>& unit, int row) {
  __m512 scores[Rows][4];
  score_tile<Rows>(unit.queries + static_cast<std::ptrdiff_t>(row) * unit.width, unit.keys, unit.width,
                   scores);
  for (int r = 0; r < Rows; ++r) {
    __m512* score = scores[r];
    for (int v = 0; unit.n_keys < kTileCells && v < 4; ++v) {
      const __mmask16 lanes = visible_lanes({0, unit.n_keys - 1}, v * kLanes);
      score[v] = _mm512_mask_mov_ps(_mm512_set1_ps(kHidden), lanes, score[v]);
    }
    float& reference = unit.reference[row + r];
    float& weight = unit.weight[row + r];
    const float largest = _mm512_reduce_max_ps(
        _mm512_max_ps(_mm512_max_ps(score[0], score[1]), _mm512_max_ps(score[2], score[3])));
    if (largest > reference + kSlack) {
      weight *= std::exp2(std::max(reference - largest, -200.0F));
      reference = largest;
    }
    __m512 sum = _mm512_setzero_ps();
    for (int v = 0; v < 4; ++v)
      sum = _mm512_add_ps(sum, power_of_two(_mm512_sub_ps(score[v], _mm512_set1_ps(reference))));
    weight += _mm512_reduce_add_ps(sum);
  }
}

}  // namespace

void attend(const AttentionUnit<BFloat16>& unit) {
  using Step = void (*)(const AttentionUnit<BFloat16>&, int, int, RowState*);
  static constexpr Step kSteps[kRows] = {attend_rows<1>, attend_rows<2>, attend_rows<3>,
                                         attend_rows<4>, attend_rows<5>, attend_rows<6>};
  RowState states[kMostUnitRows];
  for (int r = 0; r < unit.n_rows; ++r) states[r] = {_mm512_setzero_ps(), kNoReference};
  std::memset(unit.output, 0, sizeof(float) * static_cast<std::size_t>(unit.n_rows) * unit.tiles.head_dim);
  for (int tile = unit.tile_begin; tile < unit.tile_end; ++tile) {
    for (int row = 0; row < unit.n_rows; row += kRows) {
      kSteps[std::min(kRows, unit.n_rows - row) - 1](unit, row, tile, states);
    }
  }
  for (int r = 0; r < unit.n_rows; ++r) {
    unit.reference[r] = states[r].reference;
    unit.weight[r] = _mm512_reduce_add_ps(states[r].weight);
  }
}

void add_shares(const ShareUnit<BFloat16>& unit) {
  using Step = void (*)(const ShareUnit<BFloat16>&, int, int);
  static constexpr Step kSteps[kRows] = {share_rows<1>, share_rows<2>, share_rows<3>,
                                         share_rows<4>, share_rows<5>, share_rows<6>};
  for (int tile = unit.tile_begin; tile < unit.tile_end; ++tile) {
    for (int row = 0; row < unit.n_rows; row += kRows) {
      kSteps[std::min(kRows, unit.n_rows - row) - 1](unit, row, tile);
    }
  }
}

void add_exponentials(const LogSumUnit<BFloat16>& unit) {
  using Step = void (*)(const LogSumUnit<BFloat16>&, int);
  static constexpr Step kSteps[kRows] = {sum_rows<1>, sum_rows<2>, sum_rows<3>,
                                         sum_rows<4>, sum_rows<5>, sum_rows<6>};
  for (int row = 0; row < unit.n_rows; row += kRows)
    kSteps[std::min(kRows, unit.n_rows - row) - 1](unit, row);
}

}  // namespace kvboost::engine

#pragma GCC pop_options
