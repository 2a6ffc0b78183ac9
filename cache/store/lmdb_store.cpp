// SPDX-License-Identifier: Apache-2.0
#include "cache/store/lmdb_store.h"

#include <sys/statfs.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/bytes.h"
#include "base/log.h"
#include "base/paths.h"

namespace kvboost::cache {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kFirstMap = 16ULL << 20;
constexpr std::uint64_t kMapStep = 256ULL << 20;
constexpr std::uint64_t kPage = 4096;
constexpr auto kRest = std::chrono::seconds(30);
constexpr int kMostRounds = 16;
constexpr std::size_t kUsesBeforeFlush = 256;

Bytes bytes_of(const Digest& digest) {
  return std::as_bytes(std::span(digest.bytes));
}

Digest digest_of(Bytes bytes) {
  Digest digest;
  std::memcpy(digest.bytes.data(), bytes.data(), std::min(bytes.size(), digest.bytes.size()));
  return digest;
}

std::int64_t now() {
  return std::chrono::system_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
}

/// The value of table meta as it lies on disk.
struct MetaValue {
  std::uint64_t bytes = 0;
  double credit = 0;
  float importance = 0;
  float rebuild_ms = 0;
  std::int64_t last_use = 0;
  Digest model;
  std::uint8_t referenced = 1;
  std::array<std::uint8_t, 7> zero{};
};
static_assert(sizeof(MetaValue) == 72 && std::is_trivially_copyable_v<MetaValue>);

MetaValue to_disk(const EvictionOrder::Entry& entry) {
  return {entry.bytes,
          entry.credit,
          entry.importance,
          entry.rebuild_ms,
          entry.last_use,
          entry.model,
          static_cast<std::uint8_t>(entry.referenced),
          {}};
}

EvictionOrder::Entry from_disk(const MetaValue& value) {
  return {value.bytes,  value.importance, value.rebuild_ms, value.referenced != 0,
          value.credit, value.model,      value.last_use};
}

/// Names of file systems on which LMDB's shared map and locks do not hold (man statfs), or nullptr.
const char* unfit_file_system(const fs::path& directory) {
  struct statfs status {};
  if (::statfs(directory.c_str(), &status) != 0) return nullptr;
  switch (static_cast<unsigned long>(status.f_type)) {
    case 0x6969:
      return "NFS";
    case 0x01021997:
      return "9p";
    case 0xFE534D42:
      return "SMB";
    case 0xFF534D42:
      return "CIFS";
    case 0x65735546:
      return "FUSE";
    case 0x00C36400:
      return "Ceph";
    default:
      return nullptr;
  }
}

/// What a directory's files take, as du counts.
std::uint64_t size_of(const fs::path& file) {
  std::error_code ignored;
  const auto size = fs::file_size(file, ignored);
  return ignored ? 0 : size;
}

}  // namespace

LmdbStore::LmdbStore(fs::path directory, DiskLimits limits, Digest model)
    : directory_(std::move(directory)), limits_(limits), model_(model) {
  counts_.name = "disk";
  counts_.limit = limits.max_bytes;
}

LmdbStore::~LmdbStore() {
  flush_uses();
}

Result<std::unique_ptr<LmdbStore>> LmdbStore::open(const fs::path& directory, const DiskLimits& limits,
                                                   const Digest& model) {
  const fs::path own = directory / ("kv-v" + std::to_string(kRecordVersion));
  if (auto made = ensure_private_dir(own); !made) return fail(made.error());
  if (const char* name = unfit_file_system(own)) {
    return fail(ErrorCode::kInvalidArgument,
                "the cache directory " + own.string() + " is on " + name + ", where a shared map is not safe",
                "set cache_dir to a local disk; until then blocks are kept in memory only");
  }
  std::unique_ptr<LmdbStore> store(new LmdbStore(own, limits, model));
  if (auto opened = store->open_or_rebuild(); !opened) return fail(opened.error());
  return store;
}

Result<void> LmdbStore::open_env() {
  const std::uint64_t size = size_of(directory_ / "data.mdb");
  const std::uint64_t map = std::clamp(size + kMapStep, kFirstMap, std::max(limits_.max_bytes, kFirstMap));
  auto env = LmdbEnv::open(directory_, std::max(map, size));
  if (!env) return fail(env.error());
  env_ = std::move(*env);
  if (auto loaded = load_meta(); !loaded) return loaded;
  return shrink_to_limit();
}

Result<void> LmdbStore::open_or_rebuild() {
  std::error_code ignored;
  fs::remove_all(directory_ / "compact", ignored);  // of a run that was killed while it compacted
  Result<void> opened = open_env();
  if (opened) return {};
  if (opened.error().code != ErrorCode::kCorrupt) return opened;
  env_.reset();
  counts_.problem = "the cache was damaged (" + opened.error().message + ") and has begun anew";
  log::warn("{}; the damaged file is kept as {}", counts_.problem,
            (directory_ / "data.mdb.damaged").string());
  fs::rename(directory_ / "data.mdb", directory_ / "data.mdb.damaged", ignored);
  fs::remove(directory_ / "lock.mdb", ignored);
  if (size_of(directory_ / "data.mdb.damaged") > limits_.max_bytes / 4) {
    fs::remove(directory_ / "data.mdb.damaged", ignored);
  }
  return open_env();
}

Result<void> LmdbStore::load_meta() {
  auto read = env_->read();
  if (!read) return fail(read.error());
  std::vector<std::pair<Digest, EvictionOrder::Entry>> entries;
  auto all = (*read)->for_each(Table::kMeta, [&](Bytes key, Bytes value) {
    MetaValue meta;
    if (key.size() != sizeof(Digest) || value.size() != sizeof meta) return true;
    std::memcpy(&meta, value.data(), sizeof meta);
    entries.emplace_back(digest_of(key), from_disk(meta));
    return true;
  });
  if (!all) return all;
  std::ranges::sort(entries, {}, [](const auto& entry) { return entry.second.last_use; });
  const std::lock_guard lock(mutex_);
  order_ = {};
  for (const auto& [key, entry] : entries) order_.insert(key, entry);
  order_.restore_floor();
  return {};
}

/// After the limit was lowered: evicts, then writes the file anew without its free pages.
Result<void> LmdbStore::shrink_to_limit() {
  if (env_->file_bytes() <= limits_.max_bytes) return {};
  std::uint64_t held = 0;
  {
    const std::lock_guard lock(mutex_);
    held = order_.bytes();
  }
  if (held > logical_limit()) {
    if (auto evicted = evict(held - logical_limit()); !evicted) return fail(evicted.error());
  }
  const fs::path compact = directory_ / "compact";
  std::error_code error;
  fs::create_directory(compact, error);
  if (auto copied = env_->compact_to(compact); !copied) return copied;
  env_.reset();
  fs::rename(compact / "data.mdb", directory_ / "data.mdb", error);
  if (error) return fail(ErrorCode::kIo, "cannot replace the cache's file: " + error.message());
  fs::remove_all(compact, error);
  auto env = LmdbEnv::open(directory_, std::max(limits_.max_bytes, kFirstMap));
  if (!env) return fail(env.error());
  env_ = std::move(*env);
  return {};
}

/// Records may fill the file but for what trees, free lists and a half-used page at each record's end take.
std::uint64_t LmdbStore::logical_limit() const {
  return limits_.max_bytes - limits_.max_bytes / 8;
}

Result<std::optional<RecordRef>> LmdbStore::get(const Digest& prefix_key) {
  auto view = read();
  if (!view) return fail(view.error());
  auto found = (*view)->get(Table::kBlocks, bytes_of(prefix_key));
  if (!found) return fail(failed(found.error()));
  if (!*found) {
    const std::lock_guard lock(mutex_);
    ++counts_.misses;
    return std::nullopt;
  }
  auto record = open_record(**found);
  if (!record || record->info.prefix_key != prefix_key) {
    view->reset();
    const bool damaged = record.has_value() || record.error().code == ErrorCode::kCorrupt;
    if (damaged) log::warn("a damaged record was removed from the cache");
    if (auto erased = erase(prefix_key); !erased) return fail(erased.error());
    const std::lock_guard lock(mutex_);
    ++counts_.misses;
    counts_.corrupt += damaged ? 1 : 0;
    return std::nullopt;
  }
  const std::lock_guard lock(mutex_);
  ++counts_.hits;
  order_.touch(prefix_key, now());
  used_.insert(prefix_key);
  return RecordRef(*record, *view);
}

Result<std::vector<Digest>> LmdbStore::prefixes_of(const Digest& content_key) {
  auto view = read();
  if (!view) return fail(view.error());
  std::vector<Digest> keys;
  auto all = (*view)->for_each_value(Table::kContents, bytes_of(content_key), [&](Bytes value) {
    keys.push_back(digest_of(value));
    return true;
  });
  if (!all) return fail(failed(all.error()));
  return keys;
}

bool LmdbStore::contains(const Digest& prefix_key) {
  const std::lock_guard lock(mutex_);
  return order_.find(prefix_key) != nullptr;
}

Result<void> LmdbStore::put(const SealedRecord& record) {
  auto view = open_record(*record);
  if (!view) return fail(view.error());
  if (contains(view->info.prefix_key)) return {};
  if (resting()) return fail(ErrorCode::kBusy, "the disk tier rests after a failure");
  if (record->size() > logical_limit()) {
    return fail(ErrorCode::kBusy,
                "a record of " + human_size(record->size()) + " is larger than max_disk allows");
  }
  const std::lock_guard puts(put_mutex_);
  flush_uses_beyond(kUsesBeforeFlush);
  for (int round = 0; round < kMostRounds; ++round) {
    Result<void> done = make_room(record->size());
    if (done) done = put_once(record, view->info);
    if (done) return {};
    if (done.error().code != ErrorCode::kBusy) return fail(failed(done.error()));
    if (auto grown = grow(); grown) continue;
    // The file may not grow: free pages are too scattered for a run of this length. More of them make one.
    auto evicted = evict(record->size());
    if (!evicted) return fail(failed(evicted.error()));
    if (*evicted == 0) break;
  }
  return fail(ErrorCode::kBusy, "the disk tier has no room for the record");
}

Result<void> LmdbStore::put_once(const SealedRecord& record, const RecordInfo& info) {
  EvictionOrder::Entry entry{.bytes = record->size(),
                             .importance = info.importance,
                             .rebuild_ms = info.rebuild_ms,
                             .model = model_,
                             .last_use = now()};
  {
    const std::lock_guard lock(mutex_);
    entry.credit = order_.new_credit(entry);
  }
  const MetaValue meta = to_disk(entry);
  auto written = write([&](LmdbEnv::Write& txn) -> Result<void> {
    if (auto put = txn.put(Table::kBlocks, bytes_of(info.prefix_key), *record); !put) return put;
    if (auto put = txn.put(Table::kContents, bytes_of(info.content_key), bytes_of(info.prefix_key)); !put)
      return put;
    return txn.put(Table::kMeta, bytes_of(info.prefix_key), std::as_bytes(std::span(&meta, 1)));
  });
  if (!written) return written;
  const std::lock_guard lock(mutex_);
  order_.insert(info.prefix_key, entry);
  return {};
}

Result<void> LmdbStore::make_room(std::uint64_t bytes) {
  std::uint64_t held = 0;
  {
    const std::lock_guard lock(mutex_);
    held = order_.bytes();
  }
  if (held + bytes <= logical_limit()) return {};
  auto evicted = evict(held + bytes - logical_limit());
  if (!evicted) return fail(evicted.error());
  return {};
}

/// Lets the map, and so the file, grow by a step; fails at the limit, or where the disk is nearly full.
Result<void> LmdbStore::grow() {
  const std::shared_lock lock(env_mutex_);
  const std::uint64_t map = env_->map_bytes();
  const std::uint64_t wanted = std::min(map + std::min(map, kMapStep), limits_.max_bytes / kPage * kPage);
  if (wanted <= map) return fail(ErrorCode::kBusy, "the file is as large as max_disk allows");
  struct statvfs disk {};
  if (::statvfs(directory_.c_str(), &disk) == 0 &&
      static_cast<std::uint64_t>(disk.f_bavail) * disk.f_frsize < limits_.free_floor + (wanted - map)) {
    return fail(ErrorCode::kBusy, "the disk is nearly full");
  }
  return env_->resize(wanted);
}

/// Evicts at least `bytes`, if there is so much; returns what was evicted.
Result<std::uint64_t> LmdbStore::evict(std::uint64_t bytes) {
  std::vector<Digest> victims;
  std::uint64_t sum = 0;
  {
    const std::lock_guard lock(mutex_);
    while (sum < bytes) {
      const auto victim = order_.victim();
      if (!victim) break;
      sum += order_.find(*victim)->bytes;
      order_.evicted(*victim);
      victims.push_back(*victim);
    }
    counts_.evictions += victims.size();
  }
  if (auto erased = erase_many(victims); !erased) return fail(erased.error());
  return sum;
}

Result<void> LmdbStore::erase_many(const std::vector<Digest>& keys) {
  const auto body = [&](LmdbEnv::Write& txn) -> Result<void> {
    for (const Digest& key : keys) {
      auto record = txn.get(Table::kBlocks, bytes_of(key));
      if (!record) return fail(record.error());
      if (*record && (*record)->size() >= kRecordHeaderBytes) {
        const auto content = content_key_of(**record);
        if (auto erased = txn.erase(Table::kContents, bytes_of(content), bytes_of(key)); !erased)
          return erased;
      }
      if (auto erased = txn.erase(Table::kBlocks, bytes_of(key)); !erased) return erased;
      if (auto erased = txn.erase(Table::kMeta, bytes_of(key)); !erased) return erased;
    }
    return {};
  };
  auto erased = write(body);
  if (erased || erased.error().code != ErrorCode::kBusy) return erased;
  // Even forgetting writes a few new pages; a full map gets them beyond its limit, and gives them back.
  {
    const std::shared_lock lock(env_mutex_);
    if (auto grown = env_->resize(env_->map_bytes() + (1ULL << 20)); !grown) return grown;
  }
  return write(body);
}

Result<bool> LmdbStore::erase(const Digest& prefix_key) {
  auto erased = erase_many({prefix_key});
  if (!erased) return fail(failed(erased.error()));
  const std::lock_guard lock(mutex_);
  const bool there = order_.find(prefix_key) != nullptr;
  order_.erase(prefix_key);
  return there;
}

Result<std::uint64_t> LmdbStore::remove_if(const Chooser& chosen, bool dry_run) {
  std::vector<Digest> keys;
  std::uint64_t bytes = 0;
  for_each([&](const Digest& key, const EvictionOrder::Entry& entry) {
    if (!chosen(key, entry)) return;
    keys.push_back(key);
    bytes += entry.bytes;
  });
  if (dry_run) return bytes;
  if (auto erased = erase_many(keys); !erased) return fail(failed(erased.error()));
  const std::lock_guard lock(mutex_);
  for (const Digest& key : keys) order_.erase(key);
  return bytes;
}

void LmdbStore::for_each(const std::function<void(const Digest&, const EvictionOrder::Entry&)>& visit) const {
  const std::lock_guard lock(mutex_);
  order_.for_each(visit);
}

Result<std::uint64_t> LmdbStore::verify(const std::function<bool(std::uint64_t, std::uint64_t)>& progress) {
  std::vector<Digest> keys;
  for_each([&](const Digest& key, const EvictionOrder::Entry&) { keys.push_back(key); });
  std::uint64_t before = 0;
  {
    const std::lock_guard lock(mutex_);
    before = counts_.corrupt;
  }
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (auto found = get(keys[i]); !found) return fail(found.error());
    if (progress && !progress(i + 1, keys.size())) break;
  }
  const std::lock_guard lock(mutex_);
  return counts_.corrupt - before;
}

void LmdbStore::set_referenced(const Digest& prefix_key, bool referenced) {
  const std::lock_guard lock(mutex_);
  order_.set_referenced(prefix_key, referenced);
  used_.insert(prefix_key);
}

Result<void> LmdbStore::write(const std::function<Result<void>(LmdbEnv::Write&)>& body) {
  {
    const std::shared_lock lock(env_mutex_);
    if (env_ != nullptr && env_->in_place()) {
      auto done = env_->write(body);
      if (done || done.error().code != ErrorCode::kCorrupt) return done;
    }
  }
  // The file is damaged, or was removed under us: begin anew, and try once more.
  const std::unique_lock lock(env_mutex_);
  env_.reset();
  if (auto made = ensure_private_dir(directory_); !made) return made;
  if (auto opened = open_or_rebuild(); !opened) return opened;
  return env_->write(body);
}

Result<std::shared_ptr<LmdbEnv::Read>> LmdbStore::read() {
  const std::shared_lock lock(env_mutex_);
  if (env_ == nullptr) return fail(ErrorCode::kIo, "the disk tier is closed");
  return env_->read();
}

void LmdbStore::flush_uses_beyond(std::size_t count) {
  std::vector<std::pair<Digest, MetaValue>> values;
  {
    const std::lock_guard lock(mutex_);
    if (used_.size() <= count) return;
    for (const Digest& key : used_) {
      if (const auto* entry = order_.find(key)) values.emplace_back(key, to_disk(*entry));
    }
    used_.clear();
  }
  const auto written = write([&](LmdbEnv::Write& txn) -> Result<void> {
    for (const auto& [key, value] : values) {
      if (auto put = txn.put(Table::kMeta, bytes_of(key), std::as_bytes(std::span(&value, 1))); !put)
        return put;
    }
    return {};
  });
  // A full map refuses even this; the order in memory stays right, only a restart would not know of these
  // uses.
  if (!written && written.error().code != ErrorCode::kBusy) (void)failed(written.error());
}

/// Counts a failure, tells it once, and rests.
Error LmdbStore::failed(Error error) {
  const std::lock_guard lock(mutex_);
  ++counts_.failures;
  counts_.problem = error.message;
  rest_until_ = std::chrono::steady_clock::now() + kRest;
  if (!std::exchange(told_, true))
    log::warn("the cache on disk fails, blocks are not kept: {}", error.message);
  return error;
}

bool LmdbStore::resting() const {
  const std::lock_guard lock(mutex_);
  return std::chrono::steady_clock::now() < rest_until_;
}

std::vector<TierStats> LmdbStore::stats() const {
  TierStats stats;
  {
    const std::lock_guard lock(mutex_);
    stats = counts_;
    stats.records = order_.size();
    stats.bytes = order_.bytes();
  }
  stats.used = size_of(directory_ / "data.mdb");
  return {stats};
}

}  // namespace kvboost::cache
