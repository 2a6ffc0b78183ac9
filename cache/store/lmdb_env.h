// SPDX-License-Identifier: Apache-2.0
// LmdbEnv: one LMDB environment (lmdb.tech) with what a cache needs of it: a map that grows, readers that may
// outlive a call, damage noticed before it is touched. Any thread may read; one at a time writes. lmdb.h
// stays in the .cpp.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "base/error.h"

namespace kvboost::cache {

/// The databases of the environment.
enum class Table { kBlocks = 0, kContents = 1, kMeta = 2, kManifest = 3 };
inline constexpr std::array<const char*, 4> kTableNames = {"blocks", "contents", "meta", "manifest"};

using Bytes = std::span<const std::byte>;

/// Codes of a failed call: kBusy when the map is full (grow or make room, then try again), kCorrupt when the
/// file is damaged, kIo for what the system refused (a full disk by that name and with a remedy, else its
/// errno in the message).
class LmdbEnv {
 public:
  class Read;
  class Write;

  /// Opens or creates `directory`/data.mdb with a map of at least `map_bytes`. A file that is damaged or cut
  /// short is kCorrupt, found before LMDB sees a page of it (tree_check.h).
  [[nodiscard]] static Result<std::unique_ptr<LmdbEnv>> open(const std::filesystem::path& directory,
                                                             std::uint64_t map_bytes);
  ~LmdbEnv();
  LmdbEnv(const LmdbEnv&) = delete;
  LmdbEnv& operator=(const LmdbEnv&) = delete;

  /// A view of one moment. Bytes that it gives stay while it lives.
  [[nodiscard]] Result<std::shared_ptr<Read>> read();

  /// Runs `body` in a write transaction, committed if it returns no error.
  [[nodiscard]] Result<void> write(const std::function<Result<void>(Write&)>& body);

  /// Waits a little for live reads to end; false when some still live. Reads go on beginning meanwhile, so
  /// that who holds one may begin another.
  [[nodiscard]] bool wait_idle();
  /// Sets the map's size; kBusy when reads do not end.
  [[nodiscard]] Result<void> resize(std::uint64_t map_bytes);
  [[nodiscard]] std::uint64_t map_bytes() const;
  /// Gives the disk back what a value takes that has pages of its own, but for the first one: it can be
  /// erased still, and no more. `value` is of a read.
  void forget(Bytes value) const;
  /// Gives the disk back what pages take that no tree has. No read may be alive.
  [[nodiscard]] Result<void> forget_free_pages();
  /// Whether the file is still in its place, nobody else has changed it, and no call found it damaged. Else
  /// reading on may be a crash: open it anew, which checks it.
  [[nodiscard]] bool trusted() const;

 private:
  struct Impl;
  explicit LmdbEnv(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

class LmdbEnv::Read {
 public:
  ~Read();
  Read(const Read&) = delete;
  Read& operator=(const Read&) = delete;

  [[nodiscard]] Result<std::optional<Bytes>> get(Table table, Bytes key) const;
  /// Every value under one key (kContents) or every pair (the others); `visit` returns false to stop.
  [[nodiscard]] Result<void> for_each_value(Table table, Bytes key,
                                            const std::function<bool(Bytes value)>& visit) const;
  /// In the order of the keys, those from `from` on.
  [[nodiscard]] Result<void> for_each(Table table, const std::function<bool(Bytes key, Bytes value)>& visit,
                                      Bytes from = {}) const;

 private:
  friend class LmdbEnv;
  struct Impl;
  explicit Read(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

class LmdbEnv::Write {
 public:
  [[nodiscard]] Result<void> put(Table table, Bytes key, Bytes value);
  /// Absent is fine. With `value`, that one of several (kContents).
  [[nodiscard]] Result<void> erase(Table table, Bytes key, std::optional<Bytes> value = {});
  [[nodiscard]] Result<std::optional<Bytes>> get(Table table, Bytes key);

 private:
  friend class LmdbEnv;
  Write(LmdbEnv::Impl& env, void* txn) : env_(env), txn_(txn) {}
  [[nodiscard]] Result<void> check_large(Table table, Bytes key);
  LmdbEnv::Impl& env_;
  void* txn_;
};

}  // namespace kvboost::cache
