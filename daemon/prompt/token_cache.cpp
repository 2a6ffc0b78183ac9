// SPDX-License-Identifier: Apache-2.0
#include "daemon/prompt/token_cache.h"

#include <algorithm>

namespace kvboost::daemon {
namespace {

constexpr std::int32_t kSampledPieces = 256;

// A tokenizer's address says nothing, since the next model may get the same. Its kind, its size and pieces
// from all over its vocabulary do.
void add_identity(Hasher& hasher, const engine::Tokenizer& tokenizer) {
  const std::int32_t vocabulary = tokenizer.vocabulary();
  hasher.update_u64(static_cast<std::uint64_t>(vocabulary)).update(tokenizer.pre_tokenizer());
  const std::int32_t step = std::max(1, vocabulary / kSampledPieces);
  for (std::int32_t id = 0; id < vocabulary; id += step) {
    const std::string_view piece = tokenizer.bytes(id);
    hasher.update_u64(piece.size()).update(piece);
  }
}

template <class Entry>
std::uint64_t size_of(const Entry& entry) {
  return sizeof(Entry) + 64 + entry.tokens.size() * sizeof(engine::TokenId);
}

}  // namespace

std::vector<engine::TokenId> TokenCache::encode(const engine::Tokenizer& tokenizer, std::string_view text) {
  Hasher hasher;
  add_identity(hasher, tokenizer);
  const Digest key = hasher.update(text).finish();
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = by_key_.find(key); found != by_key_.end()) {
      entries_.splice(entries_.begin(), entries_, found->second);
      return found->second->tokens;
    }
  }
  std::vector<engine::TokenId> tokens = tokenizer.encode(text);
  const std::lock_guard lock(mutex_);
  if (!by_key_.contains(key)) {
    entries_.push_front({key, tokens});
    by_key_[key] = entries_.begin();
    bytes_ += size_of(entries_.front());
    make_room();
  }
  return tokens;
}

std::uint64_t TokenCache::bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

void TokenCache::make_room() {
  while (bytes_ > max_bytes_) {
    bytes_ -= size_of(entries_.back());
    by_key_.erase(entries_.back().key);
    entries_.pop_back();
  }
}

}  // namespace kvboost::daemon
