// SPDX-License-Identifier: Apache-2.0
// TokenCache: the token ids of texts that were encoded lately, so that a prompt over the same spans costs no
// encoding. Least recently used go first. Any thread.
#pragma once

#include <cstdint>
#include <list>
#include <mutex>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/digest.h"
#include "engine/tokenizer.h"

namespace kvboost::daemon {

class TokenCache {
 public:
  explicit TokenCache(std::uint64_t max_bytes) : max_bytes_(max_bytes) {}

  /// What tokenizer.encode(text) gives. Entries of another model's tokenizer are never mistaken for this
  /// one's.
  [[nodiscard]] std::vector<engine::TokenId> encode(const engine::Tokenizer& tokenizer,
                                                    std::string_view text);

  [[nodiscard]] std::uint64_t bytes() const;

 private:
  struct Entry {
    Digest key;
    std::vector<engine::TokenId> tokens;
  };

  void make_room();  // mutex_ held

  const std::uint64_t max_bytes_;
  mutable std::mutex mutex_;
  std::uint64_t bytes_ = 0;
  std::list<Entry> entries_;  // the latest first
  std::unordered_map<Digest, std::list<Entry>::iterator, DigestHash> by_key_;
};

}  // namespace kvboost::daemon
