// SPDX-License-Identifier: Apache-2.0
// UserPieces: finds the user-defined pieces of a vocabulary in text, where they stand for themselves before
// anything else is looked at. Owned by the tokenizer; immutable after the last `add`, any thread.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/tokenizer.h"

namespace kvboost::engine {

class UserPieces {
 public:
  void add(std::string_view text, TokenId id);

  struct Found {
    std::size_t begin;
    std::size_t length;
    TokenId id;
  };
  /// The first place in `text` where a piece stands, and the longest that stands there.
  [[nodiscard]] std::optional<Found> find(std::string_view text) const;

 private:
  using Node = std::uint32_t;
  static constexpr Node kRoot = 0;
  static std::uint64_t edge(Node node, char byte) {
    return std::uint64_t{node} << 8 | static_cast<unsigned char>(byte);
  }
  [[nodiscard]] std::optional<Found> longest_at(std::string_view text, std::size_t begin) const;

  std::unordered_map<std::uint64_t, Node> next_;  // a trie: (node, byte) → node
  std::vector<std::optional<TokenId>> ends_{std::nullopt};
  std::array<bool, 256> starts_{};
};

}  // namespace kvboost::engine
