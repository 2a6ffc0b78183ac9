// SPDX-License-Identifier: Apache-2.0
// MergeTable: which two neighbouring tokens become one, and which pairs first. Owned by the tokenizer, filled
// once, then any thread.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "engine/tokenizer.h"

namespace kvboost::engine {

struct Merge {
  std::uint32_t rank = 0;  // the lowest goes first; of equal ones, the leftmost
  TokenId result = 0;
};

class MergeTable {
 public:
  explicit MergeTable(std::size_t merges)
      : slots_(std::bit_ceil(merges + merges / 2 + 1)), shift_(64 - std::countr_zero(slots_.size())) {}

  /// At most as many as the constructor was told. The first of two for the same pair counts.
  void add(TokenId left, TokenId right, Merge merge) {
    const std::uint64_t pair = key(left, right);
    std::size_t at = start(pair);
    for (; slots_[at].pair != kEmpty; at = next(at))
      if (slots_[at].pair == pair) return;
    slots_[at] = {pair, merge};
  }

  /// nullptr if the two do not merge.
  [[nodiscard]] const Merge* find(TokenId left, TokenId right) const {
    const std::uint64_t pair = key(left, right);
    for (std::size_t at = start(pair); slots_[at].pair != kEmpty; at = next(at))
      if (slots_[at].pair == pair) return &slots_[at].merge;
    return nullptr;
  }

 private:
  static constexpr std::uint64_t kEmpty = ~std::uint64_t{0};  // no pair of ids: they are never negative
  struct Slot {
    std::uint64_t pair = kEmpty;
    Merge merge;
  };

  static std::uint64_t key(TokenId left, TokenId right) {
    return std::uint64_t{static_cast<std::uint32_t>(left)} << 32 | static_cast<std::uint32_t>(right);
  }
  // Fibonacci hashing: ids are small and dense, the multiplication spreads them over the top bits.
  [[nodiscard]] std::size_t start(std::uint64_t pair) const {
    return shift_ == 64 ? 0 : static_cast<std::size_t>((pair ^ pair >> 29) * 0x9E3779B97F4A7C15ULL >> shift_);
  }
  [[nodiscard]] std::size_t next(std::size_t at) const { return (at + 1) & (slots_.size() - 1); }

  std::vector<Slot> slots_;
  int shift_;
};

}  // namespace kvboost::engine
