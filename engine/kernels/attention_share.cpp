// SPDX-License-Identifier: Apache-2.0
// Each thread takes some tiles, with all rows of all heads: no two write to the same cell.
#include "engine/kernels/attention_share.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "engine/kernels/parallel.h"

namespace kvboost::engine {
namespace {

constexpr std::int32_t kTilesOfUnit = 4;

/// The rows of one KV head, one behind the other.
template <class T>
struct HeadRows {
  std::vector<T> queries;             // (n_rows, head_dim)
  std::vector<VisibleCells> visible;  // (n_rows)
  std::vector<float> log_weight;      // (n_rows)
};

/// What the rows see beyond cell `end` is left out.
template <class T>
HeadRows<T> rows_of(const AttentionCall<T>& call, std::int32_t head, std::int32_t end) {
  const std::int32_t group = call.n_heads / call.n_kv_heads;
  HeadRows<T> rows;
  for (std::int32_t token = 0; token < std::ssize(call.visible); ++token) {
    const std::ptrdiff_t at = static_cast<std::ptrdiff_t>(token) * call.n_heads + head * group;
    const T* queries = call.queries + at * call.tiles.head_dim;
    rows.queries.insert(rows.queries.end(), queries,
                        queries + static_cast<std::ptrdiff_t>(group) * call.tiles.head_dim);
    const auto [first, last] = call.visible[token];
    rows.visible.insert(rows.visible.end(), group, {first, std::min(last, end - 1)});
    rows.log_weight.insert(rows.log_weight.end(), call.log_weight + at, call.log_weight + at + group);
  }
  return rows;
}

}  // namespace

template <class T>
void add_shares(const AttentionCall<T>& call, std::span<float> shares) {
  const auto end = static_cast<std::int32_t>(shares.size());
  const std::int32_t n_tiles = (end + kTileCells - 1) / kTileCells;
  std::vector<HeadRows<T>> heads;
  for (std::int32_t head = 0; head < call.n_kv_heads; ++head) heads.push_back(rows_of(call, head, end));
  parallel_items((n_tiles + kTilesOfUnit - 1) / kTilesOfUnit, [&](std::ptrdiff_t item) {
    const auto tile_begin = static_cast<std::int32_t>(item) * kTilesOfUnit;
    float of_unit[kTilesOfUnit * kTileCells] = {};
    for (std::int32_t head = 0; head < call.n_kv_heads; ++head) {
      const HeadRows<T>& rows = heads[head];
      add_shares(ShareUnit<T>{rows.queries.data(), rows.visible.data(), rows.log_weight.data(),
                              static_cast<std::int32_t>(rows.visible.size()), head, call.tiles, tile_begin,
                              std::min(tile_begin + kTilesOfUnit, n_tiles), of_unit});
    }
    const std::int32_t begin = tile_begin * kTileCells;
    const auto count = std::min(kTilesOfUnit * kTileCells, end - begin);
    for (std::int32_t i = 0; i < count; ++i) shares[begin + i] += of_unit[i];
  });
}

template void add_shares(const AttentionCall<BFloat16>&, std::span<float>);
template void add_shares(const AttentionCall<float>&, std::span<float>);

}  // namespace kvboost::engine
