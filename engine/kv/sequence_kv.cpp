// SPDX-License-Identifier: Apache-2.0
// Where keys and values live.
#include "engine/kv/sequence_kv.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <type_traits>

namespace kvboost::engine {
namespace {

constexpr std::size_t kAlignment = 64;

/// bfloat16 tiles interleave pairs: of dimensions in keys, of cells in values.
constexpr std::int32_t pair_of(std::size_t element_bytes) {
  return element_bytes == sizeof(BFloat16) ? 2 : 1;
}

}  // namespace

void SequenceKv::Free::operator()(std::byte* memory) const {
  std::free(memory);
}

void SequenceKv::prepare(std::int32_t count) {
  const std::int32_t end = size() + count;
  constexpr std::int32_t kStep = kTilesPerStep * kTileCells;
  while (static_cast<std::int32_t>(owned_.size()) * kStep < end) {
    auto* memory = static_cast<std::byte*>(std::aligned_alloc(kAlignment, step_bytes()));
    if (memory == nullptr) throw std::bad_alloc();
    owned_.emplace_back(memory);
    steps_.push_back(memory);
  }
  const bool new_tile = (size() + kTileCells - 1) / kTileCells < (end + kTileCells - 1) / kTileCells;
  if (new_tile) clear_values_behind(end);
}

/// Attention multiplies a whole tile of values, by 0 in cells that are not there: these must be finite.
void SequenceKv::clear_values_behind(std::int32_t cell) {
  if (cell % kTileCells == 0) return;
  const auto pair = pair_of(element_bytes_);
  const auto cells_before = (cell % kTileCells + pair - 1) / pair * pair;
  const auto row = static_cast<std::size_t>(shape_.head_dim) * element_bytes_;
  const auto tile_bytes = row * kTileCells;
  const auto tile = static_cast<std::size_t>(cell / kTileCells);
  std::byte* step = steps_[tile / kTilesPerStep];
  for (std::int32_t i = 0; i < shape_.n_layers * shape_.n_kv_heads; ++i) {
    std::byte* values =
        step + ((static_cast<std::size_t>(i) * kTilesPerStep + tile % kTilesPerStep) * 2 + 1) * tile_bytes;
    std::memset(values + cells_before * row, 0, (kTileCells - cells_before) * row);
    if (cells_before != cell % kTileCells) {  // the second cell of a pair
      auto* elements = reinterpret_cast<BFloat16*>(values) +
                       static_cast<std::size_t>(cells_before - pair) * shape_.head_dim;
      for (std::int32_t d = 0; d < shape_.head_dim; ++d) elements[2 * d + 1] = {};
    }
  }
}

void SequenceKv::commit(std::span<const TokenId> tokens, std::span<const std::int32_t> positions) {
  tokens_.insert(tokens_.end(), tokens.begin(), tokens.end());
  positions_.insert(positions_.end(), positions.begin(), positions.end());
}

SequenceKv SequenceKv::fork(std::int32_t size) const {
  const auto cells = std::min(static_cast<std::size_t>(std::max(size, 0)), tokens_.size());
  SequenceKv copy(shape_, element_bytes_);
  copy.prepare(static_cast<std::int32_t>(cells));
  for (std::size_t i = 0; i < copy.steps_.size(); ++i) std::memcpy(copy.steps_[i], steps_[i], step_bytes());
  copy.commit(tokens().first(cells), positions().first(cells));
  copy.clear_values_behind(copy.size());
  return copy;
}

void SequenceKv::truncate(std::int32_t size) {
  tokens_.resize(std::min(tokens_.size(), static_cast<std::size_t>(size)));
  positions_.resize(tokens_.size());
  constexpr std::size_t kStep = kTilesPerStep * kTileCells;
  owned_.resize(std::min(owned_.size(), (tokens_.size() + kStep - 1) / kStep));
  steps_.resize(owned_.size());
  clear_values_behind(this->size());
}

std::vector<VisibleCells> visible_cells(const SequenceKv& kv, std::span<const std::int32_t> cells,
                                        std::span<const std::int32_t> positions, std::int32_t window) {
  std::vector<std::int32_t> by_cell;
  if (window > 0) {
    by_cell.assign(kv.positions().begin(), kv.positions().end());
    by_cell.resize(std::max(kv.size(), cells.back() + 1));
    for (std::size_t i = 0; i < positions.size(); ++i) by_cell[cells[i]] = positions[i];
  }
  std::vector<VisibleCells> visible;
  for (std::size_t i = 0; i < positions.size(); ++i) {
    std::int32_t first = 0;
    if (window > 0) {
      const auto end = by_cell.begin() + cells[i];
      first = static_cast<std::int32_t>(
          std::ranges::upper_bound(by_cell.begin(), end, positions[i] - window) - by_cell.begin());
    }
    visible.push_back({first, cells[i]});
  }
  return visible;
}

/// A value's elements stand pair_of(sizeof(T)) apart, from here on.
template <class T>
T* first_of_value(const KvTiles<T>& tiles, std::int32_t head, std::int32_t cell) {
  constexpr auto kPair = pair_of(sizeof(T));
  const std::int32_t in_tile = cell % kTileCells;
  return tiles.values(head, cell / kTileCells) +
         static_cast<std::ptrdiff_t>(in_tile / kPair) * tiles.head_dim * kPair + in_tile % kPair;
}

template <class T>
void write_cell(const KvTiles<T>& tiles, std::int32_t head, std::int32_t cell, const T* key, const T* value) {
  constexpr auto kPair = pair_of(sizeof(T));
  const std::int32_t tile = cell / kTileCells;
  const std::int32_t in_tile = cell % kTileCells;
  T* keys = tiles.keys(head, tile) + in_tile * kPair;
  for (std::int32_t d = 0; d < tiles.head_dim; d += kPair) {
    std::memcpy(keys + static_cast<std::ptrdiff_t>(d) * kTileCells, key + d, sizeof(T) * kPair);
  }
  T* values = first_of_value(tiles, head, cell);
  for (std::int32_t d = 0; d < tiles.head_dim; ++d) values[d * kPair] = value[d];
}

template <class T>
void read_value(const KvTiles<T>& tiles, std::int32_t head, std::int32_t cell, T* value) {
  const T* values = first_of_value(tiles, head, cell);
  for (std::int32_t d = 0; d < tiles.head_dim; ++d) value[d] = values[d * pair_of(sizeof(T))];
}

template void write_cell(const KvTiles<BFloat16>&, std::int32_t, std::int32_t, const BFloat16*,
                         const BFloat16*);
template void write_cell(const KvTiles<float>&, std::int32_t, std::int32_t, const float*, const float*);
template void read_value(const KvTiles<BFloat16>&, std::int32_t, std::int32_t, BFloat16*);
template void read_value(const KvTiles<float>&, std::int32_t, std::int32_t, float*);

}  // namespace kvboost::engine
