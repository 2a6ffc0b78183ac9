// SPDX-License-Identifier: Apache-2.0
// CacheFile: the environment of the disk tier as one file with a hard limit, that heals: whenever another has
// changed the file it is checked and opened anew; what is damaged is moved aside, what is gone is begun anew.
// Any thread.
//
// Files: <directory>/data.mdb and lock.mdb; data.mdb.damaged, the last damaged one, for those who want to
// look; compact/, while the file is written anew, which the next start ends where a run was killed meanwhile.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>

#include "base/error.h"
#include "cache/store/lmdb_env.h"

namespace kvboost::cache {

struct DiskLimits {
  std::uint64_t max_bytes = 5ULL << 30;   // of the file; hard
  std::uint64_t free_floor = 1ULL << 30;  // the file does not grow into the last free bytes of its disk
};

class CacheFile {
 public:
  /// Called with each environment before it is used: the first one, and each that healing made.
  using OnOpen = std::function<Result<void>(LmdbEnv& env)>;

  /// Fails when there can be no file here at all: the directory cannot be made private, or lies on a file
  /// system on which a shared map is not safe (kInvalidArgument, with its name).
  [[nodiscard]] static Result<std::unique_ptr<CacheFile>> open(const std::filesystem::path& directory,
                                                               const DiskLimits& limits, OnOpen on_open);

  /// Heals the file if that is needed. Where a read of this thread is alive and the file must be made anew,
  /// it fails. So do all calls for a while after the file could not be made anew.
  [[nodiscard]] Result<void> heal();
  /// After healing.
  [[nodiscard]] Result<std::shared_ptr<LmdbEnv::Read>> read();
  /// As LmdbEnv::write, after healing; tries once more when the file turns out damaged. No read of this
  /// thread may be alive.
  [[nodiscard]] Result<void> write(const std::function<Result<void>(LmdbEnv::Write&)>& body);
  /// Lets the file grow by a step; false at the limit, or where the disk is nearly full. kBusy when reads
  /// that do not end hold the map where it is.
  [[nodiscard]] Result<bool> grow();
  /// A little room beyond the limit: even forgetting writes a few pages before it frees others.
  [[nodiscard]] Result<void> grow_to_forget();
  /// Writes the file anew without its free pages, while that and the old one take little more than the old
  /// one did. When it cannot, some records may be lost; to a kill none is.
  [[nodiscard]] Result<void> compact();

  [[nodiscard]] std::uint64_t bytes() const;
  [[nodiscard]] const DiskLimits& limits() const { return limits_; }
  /// What the file may have of the limit: what was moved aside counts, too.
  [[nodiscard]] std::uint64_t room() const;
  /// Why the file cannot be opened now, or what was found damaged and begun anew, or empty.
  [[nodiscard]] std::string problem() const;

 private:
  CacheFile(std::filesystem::path directory, const DiskLimits& limits, OnOpen on_open)
      : directory_(std::move(directory)), limits_(limits), on_open_(std::move(on_open)) {}
  Result<void> open_or_begin_anew();
  Result<void> open_env(std::uint64_t map_bytes);
  [[nodiscard]] std::filesystem::path compact_directory() const { return directory_ / "compact"; }
  [[nodiscard]] bool was_compacting() const;
  Result<void> write_anew();
  Result<void> move_rows();
  [[nodiscard]] std::uint64_t largest_map() const;
  void move_aside(const Error& why);
  void refused(const Error& why);

  std::filesystem::path directory_;
  DiskLimits limits_;
  OnOpen on_open_;
  mutable std::shared_mutex mutex_;  // exclusive: replacing the environment
  std::unique_ptr<LmdbEnv> env_;
  std::string damage_;
  std::string refusal_;  // why the file cannot be opened now
  std::chrono::steady_clock::time_point rest_until_{};
};

}  // namespace kvboost::cache
