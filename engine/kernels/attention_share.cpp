// SPDX-License-Identifier: Apache-2.0
#include "engine/kernels/attention_share.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <mutex>
#include <vector>

#include "engine/kernels/parallel.h"

namespace kvboost::engine {
namespace {

constexpr float kHidden = -1e30F;

// The compiler makes these loops as wide as the CPU that runs them.
#define KVBOOST_WIDE __attribute__((target_clones("avx512f", "avx2,fma", "default")))

/// Keys of a tile as (head_dim, cells) float.
void widen_keys(const BFloat16* tile, std::int32_t head_dim, float* keys) {
  for (std::int32_t d = 0; d < head_dim; ++d) {
    const BFloat16* pair = tile + static_cast<std::ptrdiff_t>(d / 2) * kTileCells * 2 + d % 2;
    for (std::int32_t c = 0; c < kTileCells; ++c) keys[d * kTileCells + c] = to_float(pair[2 * c]);
  }
}
void widen_keys(const float* tile, std::int32_t head_dim, float* keys) {
  std::copy_n(tile, static_cast<std::size_t>(head_dim) * kTileCells, keys);
}

KVBOOST_WIDE void score_row(const float* query, const float* keys, std::int32_t head_dim, float* scores) {
  float sum[kTileCells] = {};
  for (std::int32_t d = 0; d < head_dim; ++d) {
    const float q = query[d];
    for (std::int32_t c = 0; c < kTileCells; ++c) sum[c] += q * keys[d * kTileCells + c];
  }
  for (std::int32_t c = 0; c < kTileCells; ++c) scores[c] = sum[c];
}

/// scores := 2^(score - largest); returns their sum. Coefficients as in attention_bf16.cpp.
KVBOOST_WIDE float exponentials(float* scores, std::size_t n, float largest) {
  float sum = 0.0F;
  for (std::size_t i = 0; i < n; ++i) {
    const float x = std::max(scores[i] - largest, -120.0F);
    const auto whole = static_cast<std::int32_t>(x) - (x < static_cast<float>(static_cast<std::int32_t>(x)));
    const float f = x - static_cast<float>(whole);
    const float p =
        (((0.01342669316F * f + 0.05224245787F) * f + 0.24128021300F) * f + 0.69304484129F) * f + 1.0F;
    const std::int32_t bits = (whole + 127) << 23;
    scores[i] = p * __builtin_bit_cast(float, bits);
    sum += scores[i];
  }
  return sum;
}

KVBOOST_WIDE void add_scaled(const float* row, std::size_t n, float scale, float* to) {
  for (std::size_t i = 0; i < n; ++i) to[i] += row[i] * scale;
}

/// All rows of one KV head.
template <class T>
void add_head(const AttentionCall<T>& call, std::int32_t head, std::span<float> shares) {
  const std::int32_t head_dim = call.tiles.head_dim;
  const std::int32_t group = call.n_heads / call.n_kv_heads;
  const auto n_tokens = static_cast<std::int32_t>(call.visible.size());
  const std::int32_t n_tiles = call.visible.back().last / kTileCells + 1;
  const auto width = static_cast<std::size_t>(n_tiles) * kTileCells;
  std::vector<float> keys(static_cast<std::size_t>(head_dim) * kTileCells);
  std::vector<float> queries(static_cast<std::size_t>(n_tokens) * group * head_dim);
  for (std::int32_t token = 0; token < n_tokens; ++token) {
    const T* from = call.queries + (static_cast<std::size_t>(token) * call.n_heads + head * group) * head_dim;
    for (std::int32_t i = 0; i < group * head_dim; ++i)
      queries[token * group * head_dim + i] = to_float(from[i]);
  }
  std::vector<float> scores(width * n_tokens * group);
  for (std::int32_t tile = 0; tile < n_tiles; ++tile) {
    widen_keys(call.tiles.keys(head, tile), head_dim, keys.data());
    for (std::int32_t row = 0; row < n_tokens * group; ++row) {
      score_row(queries.data() + static_cast<std::ptrdiff_t>(row) * head_dim, keys.data(), head_dim,
                scores.data() + row * width + static_cast<std::ptrdiff_t>(tile) * kTileCells);
    }
  }
  for (std::int32_t row = 0; row < n_tokens * group; ++row) {
    const VisibleCells seen = call.visible[row / group];
    float* of_row = scores.data() + row * width;
    std::fill_n(of_row, seen.first, kHidden);
    std::fill(of_row + seen.last + 1, of_row + width, kHidden);
    const float largest = *std::max_element(of_row + seen.first, of_row + seen.last + 1);
    const float sum = exponentials(of_row, width, largest);
    add_scaled(of_row, std::min(width, shares.size()), 1.0F / sum, shares.data());
  }
}

}  // namespace

template <class T>
void add_shares(const AttentionCall<T>& call, std::span<float> shares) {
  std::mutex mutex;
  parallel_items(call.n_kv_heads, [&](std::ptrdiff_t head) {
    std::vector<float> of_head(shares.size());
    add_head(call, static_cast<std::int32_t>(head), of_head);
    const std::lock_guard lock(mutex);
    for (std::size_t i = 0; i < of_head.size(); ++i) shares[i] += of_head[i];
  });
}

template void add_shares(const AttentionCall<BFloat16>&, std::span<float>);
template void add_shares(const AttentionCall<float>&, std::span<float>);

}  // namespace kvboost::engine
