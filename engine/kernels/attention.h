// SPDX-License-Identifier: Apache-2.0
// Attention without a T×T matrix: tiles of keys pass by a group of query rows, with a running softmax.
//
// Keys and values lie in tiles of 64 cells, packed as the kernels read them, so that a long context is only
// ever streamed:
//   bfloat16: keys (head_dim / 2, 64 cells, 2), values (32 pairs of cells, head_dim, 2)
//   float32:  keys (head_dim, 64 cells),        values (64 cells, head_dim)
// head_dim is a multiple of 16. Values must be finite in a whole tile, also in cells that no row may see yet.
//
// `attention` is called on the engine thread and spreads over the engine's threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <stop_token>

#include "engine/kernels/bfloat16.h"

namespace kvboost::engine {

inline constexpr std::int32_t kTileCells = 64;

/// The cells that one query token sees, both ends included.
struct VisibleCells {
  std::int32_t first = 0;
  std::int32_t last = 0;
};

/// Tiles of one layer, all KV heads: steps of `tiles_per_step` tiles, and in each step
/// (n_kv_heads, tiles_per_step, {keys, values}, tile elements) from `offset` elements on.
template <class T>
struct KvTiles {
  std::span<std::byte* const> steps;
  std::size_t offset = 0;
  std::int32_t tiles_per_step = 1;
  std::int32_t head_dim = 0;

  [[nodiscard]] std::size_t tile_elements() const { return static_cast<std::size_t>(head_dim) * kTileCells; }
  [[nodiscard]] T* keys(std::int32_t head, std::int32_t tile) const {
    const auto in_step = static_cast<std::size_t>(head) * tiles_per_step + tile % tiles_per_step;
    return reinterpret_cast<T*>(steps[tile / tiles_per_step]) + offset + in_step * 2 * tile_elements();
  }
  [[nodiscard]] T* values(std::int32_t head, std::int32_t tile) const {
    return keys(head, tile) + tile_elements();
  }
};

/// One unit of work: the query rows of some tokens that share a KV head, over tiles [tile_begin, tile_end).
template <class T>
struct AttentionUnit {
  const T* queries = nullptr;             // (n_rows, head_dim), times scale * log2(e)
  const VisibleCells* visible = nullptr;  // (n_rows)
  std::int32_t n_rows = 0;
  std::int32_t head = 0;
  KvTiles<T> tiles;
  std::int32_t tile_begin = 0;
  std::int32_t tile_end = 0;
  float* output = nullptr;     // (n_rows, head_dim): sum of 2^(score - reference) * value
  float* reference = nullptr;  // (n_rows): near the largest score so far
  float* weight = nullptr;     // (n_rows): sum of 2^(score - reference)
};

/// Rows of a unit at most.
inline constexpr std::int32_t kMostUnitRows = 256;

/// The reference of a row that saw nothing yet.
inline constexpr float kNoReference = -1e30F;

/// Fill output, reference and weight of one unit, on the calling thread. The bfloat16 one needs a CPU with
/// AVX512-BF16; the float32 one takes the widest vectors that the CPU has.
void attend(const AttentionUnit<BFloat16>& unit);
void attend(const AttentionUnit<float>& unit);

/// Rows of a unit, and what they pay to the cells of tiles [tile_begin, tile_end).
template <class T>
struct ShareUnit {
  const T* queries = nullptr;             // (n_rows, head_dim), times scale * log2(e)
  const VisibleCells* visible = nullptr;  // (n_rows)
  const float* log_weight = nullptr;      // (n_rows): log2 of the sum of 2^score over all that a row sees
  std::int32_t n_rows = 0;
  std::int32_t head = 0;
  KvTiles<T> tiles;
  std::int32_t tile_begin = 0;
  std::int32_t tile_end = 0;
  float* shares = nullptr;  // (cells of the tiles): gets the sum over the rows of 2^(score - log_weight)
};

/// Adds to the shares of one unit, on the calling thread. CPUs as of `attend`.
void add_shares(const ShareUnit<BFloat16>& unit);
void add_shares(const ShareUnit<float>& unit);

/// Rows, and a tile of keys that all of them see: those of a vocabulary, say.
template <class T>
struct LogSumUnit {
  const T* queries = nullptr;  // (n_rows, width), times log2(e)
  std::int32_t n_rows = 0;
  std::int32_t width = 0;      // a multiple of 16
  const T* keys = nullptr;     // as of KvTiles, of `width` dimensions
  std::int32_t n_keys = 0;     // of the tile's 64, the first ones
  float* reference = nullptr;  // (n_rows): near the largest score so far, kNoReference at first
  float* weight = nullptr;     // (n_rows): sum of 2^(score - reference) over all tiles so far
};

/// Adds one tile, on the calling thread. CPUs as of `attend`.
void add_exponentials(const LogSumUnit<BFloat16>& unit);
void add_exponentials(const LogSumUnit<float>& unit);

template <class T>
struct AttentionCall {
  const T* queries = nullptr;             // (n_tokens, n_heads, head_dim), rotated, times scale * log2(e)
  std::span<const VisibleCells> visible;  // (n_tokens)
  KvTiles<T> tiles;
  std::int32_t n_heads = 0;
  std::int32_t n_kv_heads = 0;
  T* output = nullptr;          // (n_tokens, n_heads, head_dim)
  float* log_weight = nullptr;  // (n_tokens, n_heads), where wanted: log2 of the sum of 2^score
};

/// Gives up early, leaving `output` unspecified, when `stop` is requested.
template <class T>
void attention(const AttentionCall<T>& call, const std::stop_token& stop);

}  // namespace kvboost::engine
