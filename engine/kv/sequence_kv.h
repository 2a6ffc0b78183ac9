// SPDX-License-Identifier: Apache-2.0
// SequenceKv: the keys and values of one sequence, rotated, in the tiles that attention reads (see
// kernels/attention.h), with the token and position of each cell. Grows by steps of a few hundred cells; what
// stands is never copied. Owned by a Sequence, used on the engine thread.
//
// A prefill writes ahead of size(): `prepare` cells, `write` them (from several threads, each its own cells),
// `commit` them block by block, and on failure `truncate` to where it began.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "engine/kernels/attention.h"
#include "engine/kv_block.h"
#include "engine/tokenizer.h"

namespace kvboost::engine {

class SequenceKv {
 public:
  /// `element_bytes`: 2 for tiles of BFloat16, 4 for tiles of float.
  SequenceKv(const KvShape& shape, std::size_t element_bytes)
      : shape_(shape), element_bytes_(element_bytes) {}

  [[nodiscard]] std::int32_t size() const { return static_cast<std::int32_t>(tokens_.size()); }
  [[nodiscard]] std::span<const TokenId> tokens() const { return tokens_; }
  [[nodiscard]] std::span<const std::int32_t> positions() const { return positions_; }
  /// Where the next token stands unless it is told to stand elsewhere: behind the last one.
  [[nodiscard]] std::int32_t next_position() const { return positions_.empty() ? 0 : positions_.back() + 1; }
  [[nodiscard]] std::uint64_t bytes() const { return owned_.size() * step_bytes(); }

  /// Makes cells [size(), size() + count) writable; std::bad_alloc if there is no memory.
  void prepare(std::int32_t count);

  /// T must be the type that element_bytes was given for.
  template <class T>
  [[nodiscard]] KvTiles<T> tiles(std::int32_t layer) const {
    return {steps_, static_cast<std::size_t>(layer) * layer_elements(), kTilesPerStep, shape_.head_dim};
  }

  /// The cells from size() on hold these tokens.
  void commit(std::span<const TokenId> tokens, std::span<const std::int32_t> positions);

  /// A copy of the first `size` cells.
  [[nodiscard]] SequenceKv fork(std::int32_t size) const;

  /// Forgets all cells from `size` on, written ahead ones too, and gives their memory back.
  void truncate(std::int32_t size);

 private:
  static constexpr std::int32_t kTilesPerStep = 8;
  struct Free {
    void operator()(std::byte* memory) const;
  };

  [[nodiscard]] std::size_t layer_elements() const { return shape_.row() * 2 * kTilesPerStep * kTileCells; }
  [[nodiscard]] std::size_t step_bytes() const { return layer_elements() * shape_.n_layers * element_bytes_; }
  void clear_values_behind(std::int32_t cell);

  KvShape shape_;
  std::size_t element_bytes_;
  std::vector<std::unique_ptr<std::byte, Free>> owned_;
  std::vector<std::byte*> steps_;  // the same, as attention wants them
  std::vector<TokenId> tokens_;
  std::vector<std::int32_t> positions_;
};

/// What each of these tokens sees: all cells up to its own, or, with a `window` that is not 0, of these the
/// ones less than so many positions back. Cells from kv.size() on are new.
[[nodiscard]] std::vector<VisibleCells> visible_cells(const SequenceKv& kv,
                                                      std::span<const std::int32_t> cells,
                                                      std::span<const std::int32_t> positions,
                                                      std::int32_t window);

/// Writes one head's key (rotated) and value, head_dim elements each, into a prepared cell.
template <class T>
void write_cell(const KvTiles<T>& tiles, std::int32_t head, std::int32_t cell, const T* key, const T* value);

/// Reads one head's value back, head_dim elements.
template <class T>
void read_value(const KvTiles<T>& tiles, std::int32_t head, std::int32_t cell, T* value);

}  // namespace kvboost::engine
