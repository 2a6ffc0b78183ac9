// SPDX-License-Identifier: Apache-2.0
// SequenceCells: single keys and values of a sequence, for tests that compare cell by cell.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/model/engine_state.h"

namespace kvboost::engine {

struct SequenceCells {
  /// What a cell holds in one layer: the keys of all KV heads, rotated, then the values.
  [[nodiscard]] static std::vector<float> read(const Engine& engine, const Sequence& sequence,
                                               std::int32_t layer, std::int32_t cell) {
    return engine.info().compute == ComputeType::kBFloat16
               ? read<BFloat16>(engine.spec(), sequence.impl_->kv, layer, cell)
               : read<float>(engine.spec(), sequence.impl_->kv, layer, cell);
  }

 private:
  template <class T>
  static std::vector<float> read(const ModelSpec& spec, const SequenceKv& kv, std::int32_t layer,
                                 std::int32_t cell) {
    constexpr std::int32_t kPair = sizeof(T) == 2 ? 2 : 1;  // see kernels/attention.h
    const KvTiles<T> tiles = kv.tiles<T>(layer);
    const std::int32_t tile = cell / kTileCells, in_tile = cell % kTileCells, dims = spec.head_dim;
    std::vector<float> keys, values;
    for (std::int32_t head = 0; head < spec.n_kv_heads; ++head) {
      for (std::int32_t d = 0; d < dims; ++d) {
        const std::int32_t key = (d / kPair * kTileCells + in_tile) * kPair + d % kPair;
        const std::int32_t value = (in_tile / kPair * dims + d) * kPair + in_tile % kPair;
        keys.push_back(to_float(tiles.keys(head, tile)[key]));
        values.push_back(to_float(tiles.values(head, tile)[value]));
      }
    }
    keys.insert(keys.end(), values.begin(), values.end());
    return keys;
  }
};

}  // namespace kvboost::engine

namespace kvboost::test {

/// The largest difference of two cells, and the largest number in the first: (difference, size).
struct CellDifference {
  float most = 0;
  float size = 0;
  void add(const std::vector<float>& a, const std::vector<float>& b) {
    for (std::size_t i = 0; i < a.size(); ++i) {
      most = std::max(most, std::abs(a[i] - b[i]));
      size = std::max(size, std::abs(a[i]));
    }
  }
};

/// Over all layers, of cell i of `a` and cell i + `shift` of `b`, for i in [first, end).
inline CellDifference cell_difference(const engine::Engine& engine, const engine::Sequence& a,
                                      const engine::Sequence& b, std::int32_t first, std::int32_t end,
                                      std::int32_t shift = 0) {
  CellDifference difference;
  for (std::int32_t layer = 0; layer < engine.spec().n_layers; ++layer) {
    for (std::int32_t cell = first; cell < end; ++cell) {
      difference.add(engine::SequenceCells::read(engine, a, layer, cell),
                     engine::SequenceCells::read(engine, b, layer, cell + shift));
    }
  }
  return difference;
}

}  // namespace kvboost::test
