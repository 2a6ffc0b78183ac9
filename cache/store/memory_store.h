// SPDX-License-Identifier: Apache-2.0
// MemoryStore: the tier of records in memory, under a hard budget. One mutex; any thread.
#pragma once

#include <functional>
#include <mutex>
#include <unordered_map>

#include "cache/store/chunk_store.h"
#include "cache/store/eviction_order.h"

namespace kvboost::cache {

class MemoryStore final : public ChunkStore {
 public:
  /// `limit` bounds the bytes of all records held, each with kOverhead for its place in the tables.
  explicit MemoryStore(std::uint64_t limit) : limit_(limit) {}

  [[nodiscard]] Result<std::optional<RecordRef>> get(const Digest& prefix_key) override;
  [[nodiscard]] Result<std::vector<Digest>> prefixes_of(const Digest& content_key) override;
  [[nodiscard]] bool contains(const Digest& prefix_key) override;
  /// As get, without counting as a use.
  [[nodiscard]] std::optional<SealedRecord> find(const Digest& prefix_key) const;
  /// kBusy when the record is larger than the limit, or all that is there is in use.
  [[nodiscard]] Result<void> put(const SealedRecord& record) override;
  Result<bool> erase(const Digest& prefix_key) override;
  void set_referenced(const Digest& prefix_key, bool referenced) override;
  void set_pinned(const Digest& prefix_key, bool pinned) override;
  [[nodiscard]] std::vector<TierStats> stats() const override;

  /// An entry's bytes are those of its record.
  void for_each(const std::function<void(const Digest&, const EvictionOrder::Entry&)>& visit) const;

  static constexpr std::uint64_t kOverhead = 512;

 private:
  void erase_locked(const Digest& prefix_key);
  [[nodiscard]] bool make_room_locked(std::uint64_t bytes);

  const std::uint64_t limit_;
  mutable std::mutex mutex_;
  std::unordered_map<Digest, SealedRecord, DigestHash> records_;
  std::unordered_multimap<Digest, Digest, DigestHash> by_content_;
  EvictionOrder order_;
  std::uint64_t hits_ = 0, misses_ = 0, evictions_ = 0;
};

}  // namespace kvboost::cache
