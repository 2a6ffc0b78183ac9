// SPDX-License-Identifier: Apache-2.0
// TieredStore: memory over disk. Reads look in memory first; what disk gives a second time moves up. Writes
// go to both, and wait for the disk. A tier that fails is gone round: `get` then says absent, `put` keeps
// what it can, and what only memory could keep is written when the disk can again. Any thread.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <unordered_set>

#include "cache/store/chunk_store.h"
#include "cache/store/lmdb_store.h"
#include "cache/store/memory_store.h"

namespace kvboost::cache {

class TieredStore final : public ChunkStore {
 public:
  /// `disk` may be null: memory only.
  TieredStore(std::unique_ptr<MemoryStore> memory, std::unique_ptr<LmdbStore> disk)
      : memory_(std::move(memory)),
        disk_(std::move(disk)),
        caught_up_with_(disk_ == nullptr ? 0 : disk_->generation()) {}

  [[nodiscard]] Result<std::optional<RecordRef>> get(const Digest& prefix_key) override;
  [[nodiscard]] Result<std::optional<RecordInfo>> load(const Digest& prefix_key,
                                                       std::vector<std::uint16_t>& block) override;
  [[nodiscard]] Result<std::vector<Digest>> prefixes_of(const Digest& content_key) override;
  [[nodiscard]] bool contains(const Digest& prefix_key) override;
  /// An error where the last tier did not take it, although memory may have.
  [[nodiscard]] Result<void> put(const SealedRecord& record) override;
  Result<bool> erase(const Digest& prefix_key) override;
  void set_referenced(const Digest& prefix_key, bool referenced) override;
  /// Pinned on disk, so that memory stays free for what is used; in memory where there is no disk.
  void set_pinned(const Digest& prefix_key, bool pinned) override;
  /// Memory, then disk.
  [[nodiscard]] std::vector<TierStats> stats() const override;

  struct CaughtUp {
    std::uint64_t written = 0;  // bytes
    std::uint64_t refused = 0;
    std::string refusal;  // why
  };
  /// Writes to disk what only memory holds, if the disk was lost or refused something since.
  CaughtUp catch_up();

  /// A record, in one tier or both.
  struct Item {
    EvictionOrder::Entry entry;  // bytes are those of the record
    bool in_memory = false;
    bool on_disk = false;
  };
  /// Every record once.
  void for_each(const std::function<void(const Digest&, const Item&)>& visit);
  /// Removes the records that `chosen` says from both tiers; returns how many and their bytes, each counted
  /// once. `dry_run` only counts.
  struct Removed {
    std::uint64_t records = 0;
    std::uint64_t bytes = 0;
  };
  Result<Removed> remove_if(const std::function<bool(const Digest&, const Item&)>& chosen, bool dry_run);
  /// Verifies each record on disk; returns how many were damaged, and so removed. Calls back with (checked,
  /// all), until that returns false. Those in memory were verified on their way in.
  Result<std::uint64_t> verify(const std::function<bool(std::uint64_t, std::uint64_t)>& progress);

  /// The disk tier, or nullptr.
  [[nodiscard]] LmdbStore* disk() const { return disk_.get(); }

 private:
  /// Whether what is read from disk now was read before, and is worth memory.
  [[nodiscard]] bool seen_before(const Digest& prefix_key);
  [[nodiscard]] RecordRef move_up(const RecordRef& read);

  std::unique_ptr<MemoryStore> memory_;
  std::unique_ptr<LmdbStore> disk_;

  std::atomic<bool> behind_ = false;           // the disk refused something that memory holds
  std::atomic<std::uint64_t> caught_up_with_;  // generation of the disk tier
  std::mutex mutex_;
  std::unordered_set<Digest, DigestHash> seen_once_;  // read from disk, not yet worth memory
};

}  // namespace kvboost::cache
