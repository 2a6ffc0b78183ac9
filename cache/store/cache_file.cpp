// SPDX-License-Identifier: Apache-2.0
#include "cache/store/cache_file.h"

#include <sys/statfs.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/paths.h"

namespace kvboost::cache {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kFirstMap = 16ULL << 20;
constexpr std::uint64_t kLeastMap = 1ULL << 20;  // whatever the limit: the trees must have a place
constexpr std::uint64_t kMapStep = 256ULL << 20;
constexpr std::uint64_t kForgetStep = 1ULL << 20;
constexpr std::size_t kMovedAtOnce = 256ULL << 10;  // for so long it takes room twice
constexpr std::uint64_t kPage = 4096;
constexpr auto kRest = std::chrono::seconds(5);

struct FileSystem {
  unsigned long type;  // man 2 statfs
  const char* name;
};
/// On these LMDB's shared map and locks do not hold.
constexpr FileSystem kUnfit[] = {{0x6969, "NFS"},      {0x01021997, "9p"},        {0x517B, "SMB"},
                                 {0xFE534D42, "SMB"},  {0xFF534D42, "CIFS"},      {0x65735546, "FUSE"},
                                 {0x00C36400, "Ceph"}, {0x5346414F, "AFS"},       {0x0BD00BD0, "Lustre"},
                                 {0x47504653, "GPFS"}, {0x786F4256, "VirtualBox"}};

/// The name of the directory's file system if it is one of those, or nullptr.
const char* unfit_file_system(const fs::path& directory) {
  struct statfs status {};
  if (::statfs(directory.c_str(), &status) != 0) return nullptr;
  const auto* found =
      std::ranges::find(kUnfit, static_cast<unsigned long>(status.f_type) & 0xFFFFFFFF, &FileSystem::type);
  return found == std::end(kUnfit) ? nullptr : found->name;
}

/// What a killed run has moved before is left as it is: here it is forgotten.
Result<void> move_row(LmdbEnv::Write& write, Table table, Bytes key, Bytes value) {
  if (table != Table::kContents) {
    const auto there = write.get(table, key);
    if (!there) return fail(there.error());
    if (*there) return {};
  }
  return write.put(table, key, value);
}

std::uint64_t size_of(const fs::path& file) {
  std::error_code absent;
  const auto size = fs::file_size(file, absent);
  return absent ? 0 : size;
}

}  // namespace

Result<std::unique_ptr<CacheFile>> CacheFile::open(const fs::path& directory, const DiskLimits& limits,
                                                   OnOpen on_open) {
  if (auto made = ensure_private_dir(directory); !made) return fail(made.error());
  if (const char* name = unfit_file_system(directory)) {
    return fail(
        ErrorCode::kInvalidArgument,
        "the cache directory " + directory.string() + " is on " + name + ", where a shared map is not safe",
        "set cache_dir to a local disk; until then blocks are kept in memory only");
  }
  std::unique_ptr<CacheFile> file(new CacheFile(directory, limits, std::move(on_open)));
  const std::unique_lock lock(file->mutex_);
  auto opened = file->open_or_begin_anew();
  if (opened && file->was_compacting()) opened = file->write_anew();
  if (file->env_ == nullptr) file->refused(opened.error());
  std::error_code absent;
  fs::remove_all(file->compact_directory(), absent);
  return file;
}

Result<void> CacheFile::open_or_begin_anew() {
  std::error_code absent;
  // Whatever bears the name of a file of ours and is none, a link for one, is not followed.
  for (const char* name : {"data.mdb", "lock.mdb", "data.mdb.damaged"}) {
    const auto status = fs::symlink_status(directory_ / name, absent);
    if (fs::exists(status) && !fs::is_regular_file(status)) fs::remove_all(directory_ / name, absent);
  }
  if (size_of(directory_ / "data.mdb.damaged") > limits_.max_bytes / 4) {
    fs::remove(directory_ / "data.mdb.damaged", absent);
  }
  const std::uint64_t size = size_of(directory_ / "data.mdb");
  Result<void> opened = open_env(std::max(std::min(size + kMapStep / 4, largest_map()), size));
  if (opened || opened.error().code != ErrorCode::kCorrupt) return opened;
  move_aside(opened.error());
  return open_env(std::min(kFirstMap, largest_map()));
}

Result<void> CacheFile::open_env(std::uint64_t map_bytes) {
  env_.reset();
  auto env = LmdbEnv::open(directory_, map_bytes);
  if (!env) return fail(env.error());
  if (auto ready = on_open_(**env); !ready) return ready;
  env_ = std::move(*env);
  refusal_.clear();
  return {};
}

void CacheFile::move_aside(const Error& why) {
  const fs::path file = directory_ / "data.mdb";
  const fs::path aside = directory_ / "data.mdb.damaged";
  std::error_code error;
  fs::rename(file, aside, error);
  if (error || size_of(aside) > limits_.max_bytes / 4) fs::remove(error ? file : aside, error);
  fs::remove(directory_ / "lock.mdb", error);
  damage_ = "the cache was damaged and has begun anew: " + why.message;
  log::warn("{}", damage_);
}

Result<void> CacheFile::heal() {
  {
    const std::shared_lock lock(mutex_);
    if (env_ != nullptr && env_->trusted()) return {};
  }
  const std::unique_lock lock(mutex_);
  if (env_ != nullptr && env_->trusted()) return {};  // another thread was faster, or wrote meanwhile
  if (std::chrono::steady_clock::now() < rest_until_) {
    return fail(ErrorCode::kIo, refusal_);
  }
  if (env_ != nullptr && !env_->wait_idle()) {
    return fail(ErrorCode::kBusy, "the cache's file is in use and cannot be made anew now");
  }
  env_.reset();
  auto healed = ensure_private_dir(directory_);
  if (healed) healed = open_or_begin_anew();
  if (!healed) refused(healed.error());
  return healed;
}

void CacheFile::refused(const Error& why) {
  rest_until_ = std::chrono::steady_clock::now() + kRest;
  if (refusal_ != why.text())
    log::warn("the cache's file cannot be opened, blocks are not kept: {}", why.text());
  refusal_ = why.text();
}

Result<std::shared_ptr<LmdbEnv::Read>> CacheFile::read() {
  if (auto healed = heal(); !healed) return fail(healed.error());
  const std::shared_lock lock(mutex_);
  if (env_ == nullptr) return fail(ErrorCode::kIo, "the cache file is closed");
  return env_->read();
}

Result<void> CacheFile::write(const std::function<Result<void>(LmdbEnv::Write&)>& body) {
  Result<void> done;
  for (int round = 0; round < 2; ++round) {
    if (auto healed = heal(); !healed) return healed;
    const std::shared_lock lock(mutex_);
    if (env_ == nullptr) return fail(ErrorCode::kIo, "the cache file is closed");
    done = env_->write(body);
    if (done || done.error().code != ErrorCode::kCorrupt) return done;
  }
  // It opens, but is damaged where only this write looks.
  const std::unique_lock lock(mutex_);
  if (env_ != nullptr && !env_->wait_idle()) {
    return fail(ErrorCode::kBusy, "the cache's file is in use and cannot be made anew now");
  }
  env_.reset();
  move_aside(done.error());
  if (auto opened = open_env(std::min(kFirstMap, largest_map())); !opened) return opened;
  return env_->write(body);
}

Result<bool> CacheFile::grow() {
  const std::shared_lock lock(mutex_);
  if (env_ == nullptr) return fail(ErrorCode::kIo, "the cache file is closed");
  const std::uint64_t map = env_->map_bytes();
  const std::uint64_t wanted = std::min(map + std::min(map, kMapStep), largest_map());
  if (wanted <= map) return false;
  struct statvfs disk {};
  if (::statvfs(directory_.c_str(), &disk) == 0 &&
      static_cast<std::uint64_t>(disk.f_bavail) * disk.f_frsize < limits_.free_floor + (wanted - map)) {
    return false;
  }
  if (auto resized = env_->resize(wanted); !resized) return fail(resized.error());
  return true;
}

Result<void> CacheFile::grow_to_forget() {
  const std::shared_lock lock(mutex_);
  if (env_ == nullptr) return fail(ErrorCode::kIo, "the cache file is closed");
  return env_->resize(env_->map_bytes() + kForgetStep);
}

Result<void> CacheFile::compact() {
  if (auto healed = heal(); !healed) return healed;
  const std::unique_lock lock(mutex_);
  if (env_ == nullptr) return fail(ErrorCode::kIo, "the cache file is closed");
  if (!env_->wait_idle()) return fail(ErrorCode::kBusy, "the cache's file is in use");
  std::error_code error;
  fs::remove_all(compact_directory(), error);
  fs::create_directory(compact_directory(), error);
  auto written = write_anew();
  fs::remove_all(compact_directory(), error);
  if (!written && env_ == nullptr) refused(written.error());
  return written;
}

/// Whether a run was killed while it wrote the file anew: what it had moved already is only in the new one.
bool CacheFile::was_compacting() const {
  std::error_code absent;
  return fs::is_directory(fs::symlink_status(compact_directory(), absent)) &&
         fs::is_regular_file(fs::symlink_status(compact_directory() / "data.mdb", absent));
}

/// Moves all that is not there yet into the file in `compact_directory`, and that in the place of this one.
Result<void> CacheFile::write_anew() {
  auto moved = move_rows();
  env_.reset();
  std::error_code error;
  if (moved) {
    fs::rename(compact_directory() / "data.mdb", directory_ / "data.mdb", error);
    if (error) moved = fail(ErrorCode::kIo, "cannot replace the cache's file: " + error.message());
  }
  if (auto opened = open_or_begin_anew(); !opened) return opened;
  return moved;
}

/// Forgets each record as soon as its copy is written.
Result<void> CacheFile::move_rows() {
  if (auto freed = env_->forget_free_pages(); !freed) return freed;
  auto fresh = LmdbEnv::open(compact_directory(), largest_map());
  if (!fresh) return fail(fresh.error());
  auto view = env_->read();
  if (!view) return fail(view.error());
  std::vector<std::pair<Bytes, Bytes>> batch;
  std::size_t bytes = 0;
  const auto move_batch = [&](Table table) -> Result<void> {
    auto written = (*fresh)->write([&](LmdbEnv::Write& write) -> Result<void> {
      for (const auto& [key, value] : batch) {
        if (auto moved = move_row(write, table, key, value); !moved) return moved;
      }
      return {};
    });
    if (!written) return written;
    for (const auto& [key, value] : batch) env_->forget(value);
    batch.clear();
    bytes = 0;
    return {};
  };
  for (std::size_t i = 0; i < kTableNames.size(); ++i) {
    const auto table = static_cast<Table>(i);
    Result<void> moved;
    auto all = (*view)->for_each(table, [&](Bytes key, Bytes value) {
      batch.emplace_back(key, value);
      bytes += key.size() + value.size();
      if (bytes >= kMovedAtOnce) moved = move_batch(table);
      return moved.has_value();
    });
    if (all && moved) moved = move_batch(table);
    if (!all || !moved) return all ? moved : all;
  }
  return {};
}

std::uint64_t CacheFile::room() const {
  const std::uint64_t aside = size_of(directory_ / "data.mdb.damaged");
  return limits_.max_bytes - std::min(aside, limits_.max_bytes);
}

std::uint64_t CacheFile::largest_map() const {
  return std::max(room() / kPage * kPage, kLeastMap);
}

std::uint64_t CacheFile::bytes() const {
  return size_of(directory_ / "data.mdb");
}

std::string CacheFile::problem() const {
  const std::shared_lock lock(mutex_);
  return refusal_.empty() ? damage_ : refusal_;
}

}  // namespace kvboost::cache
