// SPDX-License-Identifier: Apache-2.0
// TieredStore: memory over disk. Reads look in memory first; what disk gives a second time moves up. Writes
// go to memory at once and to disk behind, by one writer thread and a queue of bounded bytes. A tier that
// fails is gone round: `get` then says absent, `put` keeps what it can. Any thread.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <unordered_set>

#include "cache/store/chunk_store.h"
#include "cache/store/lmdb_store.h"
#include "cache/store/memory_store.h"

namespace kvboost::cache {

class TieredStore final : public ChunkStore {
 public:
  /// `disk` may be null: memory only. The queue holds at most `queue_bytes`.
  TieredStore(std::unique_ptr<MemoryStore> memory, std::unique_ptr<LmdbStore> disk,
              std::uint64_t queue_bytes);
  /// Writes what is queued, then closes.
  ~TieredStore() override;

  [[nodiscard]] Result<std::optional<RecordRef>> get(const Digest& prefix_key) override;
  [[nodiscard]] Result<std::optional<RecordInfo>> load(const Digest& prefix_key,
                                                       std::vector<std::uint16_t>& block) override;
  [[nodiscard]] Result<std::vector<Digest>> prefixes_of(const Digest& content_key) override;
  [[nodiscard]] bool contains(const Digest& prefix_key) override;
  /// Does not wait: kBusy when neither memory nor queue has room.
  [[nodiscard]] Result<void> put(const SealedRecord& record) override;
  Result<bool> erase(const Digest& prefix_key) override;
  void set_referenced(const Digest& prefix_key, bool referenced) override;
  /// Pinned on disk, so that memory stays free for what is used; in memory where there is no disk.
  void set_pinned(const Digest& prefix_key, bool pinned) override;
  /// Memory, then disk.
  [[nodiscard]] std::vector<TierStats> stats() const override;

  /// Waits until the queue has room for `bytes` more; false when `stop` came first. For those who have time
  /// (warm).
  bool wait_for_room(std::uint64_t bytes, std::stop_token stop);
  /// Waits until what was put before is on disk, or was refused there.
  void flush();

  /// A record, in one tier or both.
  struct Item {
    EvictionOrder::Entry entry;  // bytes are those of the record
    bool in_memory = false;
    bool on_disk = false;
  };
  /// Every record once, after a flush.
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

  [[nodiscard]] std::uint64_t queued_bytes() const;
  /// The disk tier, or nullptr.
  [[nodiscard]] LmdbStore* disk() const { return disk_.get(); }

 private:
  struct Pending {
    SealedRecord record;
    bool referenced = true;  // what was said of it meanwhile
  };

  void write_behind(const std::stop_token& stop);
  /// Whether what is read from disk now was read before, and is worth memory.
  [[nodiscard]] bool seen_before(const Digest& prefix_key);
  [[nodiscard]] RecordRef move_up(const RecordRef& read);
  [[nodiscard]] std::optional<RecordRef> queued(const Digest& prefix_key) const;

  std::unique_ptr<MemoryStore> memory_;
  std::unique_ptr<LmdbStore> disk_;
  const std::uint64_t queue_bytes_;

  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<Digest> queue_;
  std::unordered_map<Digest, Pending, DigestHash> pending_;  // queued, or being written
  std::uint64_t pending_bytes_ = 0;
  std::uint64_t queued_ = 0, written_ = 0;            // how many ever
  std::unordered_set<Digest, DigestHash> seen_once_;  // read from disk, not yet worth memory
  std::jthread writer_;                               // last: it uses all above
};

}  // namespace kvboost::cache
