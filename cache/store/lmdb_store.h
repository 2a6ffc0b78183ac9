// SPDX-License-Identifier: Apache-2.0
// LmdbStore: the tier of records on disk. It never makes a request fail: damage is moved aside and begun
// anew, a full or failing disk is told once and then left alone for a while. Reads from any thread; writes
// are serialised.
//
// Files: <directory>/kv-v<version>/data.mdb. Tables, keys and values little-endian:
//   blocks:   prefix key → record (record.h)
//   contents: content key → prefix key, many
//   meta:     prefix key → bytes:u64 credit:f64 importance:f32 rebuild_ms:f32 last_use:i64 (Unix nanoseconds)
//             model:u8[32] referenced:u8 pinned:u8 zero{6}
//   manifest: (manifest.h)
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_set>

#include "cache/store/cache_file.h"
#include "cache/store/chunk_store.h"
#include "cache/store/eviction_order.h"

namespace kvboost::cache {

class LmdbStore final : public ChunkStore {
 public:
  /// Fails only when there can be no disk tier here at
  /// all: the directory cannot be made, or lies on a file system that LMDB must not be used on
  /// (kInvalidArgument, with its name).
  [[nodiscard]] static Result<std::unique_ptr<LmdbStore>> open(const std::filesystem::path& directory,
                                                               const DiskLimits& limits);
  ~LmdbStore() override;

  [[nodiscard]] Result<std::optional<RecordRef>> get(const Digest& prefix_key) override;
  [[nodiscard]] Result<std::optional<RecordInfo>> load(const Digest& prefix_key,
                                                       std::vector<std::uint16_t>& block) override;
  [[nodiscard]] Result<std::vector<Digest>> prefixes_of(const Digest& content_key) override;
  [[nodiscard]] bool contains(const Digest& prefix_key) override;
  [[nodiscard]] Result<void> put(const SealedRecord& record) override;
  Result<bool> erase(const Digest& prefix_key) override;
  void set_referenced(const Digest& prefix_key, bool referenced) override;
  void set_pinned(const Digest& prefix_key, bool pinned) override;
  [[nodiscard]] std::vector<TierStats> stats() const override;

  /// Absent ones are fine.
  Result<void> erase_all(const std::vector<Digest>& prefix_keys);
  /// Gives the disk back what erased records have left free in the file, where that is much.
  Result<void> give_back();
  void for_each(const std::function<void(const Digest&, const EvictionOrder::Entry&)>& visit) const;

  /// Verifies each record; damaged ones are removed. Calls back with (checked, all).
  Result<std::uint64_t> verify(const std::function<bool(std::uint64_t, std::uint64_t)>& progress);

  /// For the manifest, which lives in the same file (manifest.h): a write that makes room for about `bytes`,
  /// and writes down with them what set_referenced and set_pinned were told.
  [[nodiscard]] Result<void> write_rows(std::uint64_t bytes,
                                        const std::function<Result<void>(LmdbEnv::Write&)>& body);
  [[nodiscard]] Result<std::shared_ptr<LmdbEnv::Read>> read_rows() { return file_->read(); }
  /// Rises when the file was begun anew, or opened again: what was read from it may be gone.
  [[nodiscard]] std::uint64_t generation() const;

  /// Writes recency down: now and then by itself, and on destruction.
  void flush_uses() { flush_uses_beyond(0); }

 private:
  using Uses = std::vector<std::pair<Digest, EvictionOrder::Entry>>;

  LmdbStore() = default;

  /// Opens the bytes of a record that is there; what it fails on is removed. `use`: it counts as one.
  using Opener = std::function<Result<void>(const std::shared_ptr<LmdbEnv::Read>& view, Bytes bytes)>;
  [[nodiscard]] Result<bool> read(const Digest& prefix_key, bool use, const Opener& open);
  void flush_uses_beyond(std::size_t count);
  [[nodiscard]] Uses take_uses_beyond(std::size_t count);
  Result<void> load_meta(LmdbEnv& env);
  Result<void> shrink_to_limit();
  Result<void> put_once(const SealedRecord& record);
  Result<void> write_with_room(std::uint64_t bytes, const std::function<Result<void>()>& write);
  Result<void> make_room(std::uint64_t bytes);
  Result<std::uint64_t> evict(std::uint64_t bytes);
  Result<void> erase_on_disk(std::span<const Digest> keys);
  [[nodiscard]] std::uint64_t held_bytes() const;
  [[nodiscard]] std::uint64_t pinned_bytes() const;
  [[nodiscard]] std::uint64_t logical_limit() const;
  Error failed(Error error);
  /// The failure after which the tier is left alone now.
  [[nodiscard]] std::optional<Error> resting() const;

  std::mutex put_mutex_;  // what puts and erases do on disk and in the order is one step

  mutable std::mutex mutex_;  // all below but the file
  EvictionOrder order_;
  std::unordered_set<Digest, DigestHash> used_;  // since the last flush
  struct {
    Digest key{};
    bool referenced = true;  // what is said of it meanwhile
  } writing_;
  std::uint64_t hits_ = 0, misses_ = 0, evictions_ = 0, corrupt_ = 0, failures_ = 0;
  std::string problem_;
  std::chrono::steady_clock::time_point rest_until_{};
  bool told_ = false;
  std::uint64_t generation_ = 0;
  std::unique_ptr<CacheFile> file_;  // last: it calls load_meta
};

}  // namespace kvboost::cache
