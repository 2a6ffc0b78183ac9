// SPDX-License-Identifier: Apache-2.0
#include "cache/store/lmdb_store.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/bytes.h"
#include "base/log.h"
#include "cache/store/meta_row.h"

namespace kvboost::cache {
namespace {

namespace fs = std::filesystem;

constexpr auto kRest = std::chrono::seconds(5);
constexpr int kMostRounds = 16;
constexpr std::uint64_t kLeftFree = 1ULL << 20;  // not worth writing the file anew
constexpr std::size_t kUsesBeforeFlush = 256;
constexpr std::size_t kErasedAtOnce = 1024;

Digest digest_of(Bytes bytes) {
  Digest digest;
  std::memcpy(digest.bytes.data(), bytes.data(), std::min(bytes.size(), digest.bytes.size()));
  return digest;
}

Error another_key() {
  return {ErrorCode::kCorrupt, "the record is that of another key", {}};
}

}  // namespace

LmdbStore::~LmdbStore() {
  if (file_ != nullptr) flush_uses();
}

Result<std::unique_ptr<LmdbStore>> LmdbStore::open(const fs::path& directory, const DiskLimits& limits) {
  std::unique_ptr<LmdbStore> store(new LmdbStore);
  auto file = CacheFile::open(directory / ("kv-v" + std::to_string(kRecordVersion)), limits,
                              [raw = store.get()](LmdbEnv& env) { return raw->load_meta(env); });
  if (!file) return fail(file.error());
  store->file_ = std::move(*file);
  if (auto shrunk = store->shrink_to_limit(); !shrunk) (void)store->failed(shrunk.error());
  return store;
}

Result<void> LmdbStore::load_meta(LmdbEnv& env) {
  auto read = env.read();
  if (!read) return fail(read.error());
  std::vector<std::pair<Digest, EvictionOrder::Entry>> entries;
  Result<void> told;
  auto all = (*read)->for_each(Table::kBlocks, [&](Bytes key, Bytes record) {
    auto meta = (*read)->get(Table::kMeta, key);
    if (!meta) {
      told = fail(meta.error());
    } else if (key.size() == sizeof(Digest)) {
      entries.emplace_back(digest_of(key), entry_of(record.size(), *meta));
    }
    return told.has_value();
  });
  if (!all || !told) return all ? told : all;
  std::ranges::sort(entries, {}, [](const auto& entry) { return entry.second.last_use; });
  const std::lock_guard lock(mutex_);
  order_ = {};
  for (const auto& [key, entry] : entries) order_.insert(key, entry);
  order_.restore_floor();
  ++generation_;
  return {};
}

/// After the limit was lowered: evicts, then has the file written anew without its free pages.
Result<void> LmdbStore::shrink_to_limit() {
  if (file_->bytes() <= file_->room()) return {};
  if (const std::uint64_t held = held_bytes(); held > logical_limit()) {
    if (auto evicted = evict(held - logical_limit()); !evicted) return fail(evicted.error());
  }
  return file_->compact();
}

Result<void> LmdbStore::give_back() {
  const std::lock_guard puts(put_mutex_);
  if (file_->bytes() <= held_bytes() / 4 * 5 + kLeftFree) return {};
  return file_->compact();
}

std::uint64_t LmdbStore::held_bytes() const {
  const std::lock_guard lock(mutex_);
  return order_.bytes();
}

std::uint64_t LmdbStore::pinned_bytes() const {
  const std::lock_guard lock(mutex_);
  return order_.pinned_bytes();
}

/// Records may fill the file but for what trees, free lists and a half-used page at each record's end take.
std::uint64_t LmdbStore::logical_limit() const {
  const std::uint64_t room = file_->room();
  return room - room / 8;
}

Result<bool> LmdbStore::read(const Digest& prefix_key, bool use, const Opener& open) {
  auto view = file_->read();
  if (!view) return fail(view.error());
  auto bytes = (*view)->get(Table::kBlocks, bytes_of(prefix_key));
  if (!bytes) return fail(failed(bytes.error()));
  Result<void> opened = fail(ErrorCode::kNotFound, "no record");
  if (*bytes) opened = open(*view, **bytes);
  if (opened) {
    if (!use) return true;
    const std::lock_guard lock(mutex_);
    ++hits_;
    order_.touch(prefix_key, unix_nanoseconds());
    used_.insert(prefix_key);
    return true;
  }
  const bool there = bytes->has_value();
  const bool damaged = there && opened.error().code == ErrorCode::kCorrupt;
  if (damaged) log::warn("a damaged record was removed from the cache");
  view->reset();  // erasing may have to wait for reads
  if (there) {
    if (auto erased = erase(prefix_key); !erased) return fail(erased.error());
  }
  const std::lock_guard lock(mutex_);
  misses_ += use ? 1 : 0;
  corrupt_ += damaged ? 1 : 0;
  return false;
}

Result<std::optional<RecordRef>> LmdbStore::get(const Digest& prefix_key) {
  std::optional<RecordRef> ref;
  auto found = read(prefix_key, true, [&](const auto& view, Bytes bytes) -> Result<void> {
    auto record = open_record(bytes);
    if (!record) return fail(record.error());
    if (record->info.prefix_key != prefix_key) return fail(another_key());
    ref = RecordRef(*record, view);
    return {};
  });
  if (!found) return fail(found.error());
  return ref;
}

Result<std::optional<RecordInfo>> LmdbStore::load(const Digest& prefix_key,
                                                  std::vector<std::uint16_t>& block) {
  std::optional<RecordInfo> info;
  auto found = read(prefix_key, true, [&](const auto&, Bytes bytes) -> Result<void> {
    auto record = decode_record(bytes, block);
    if (!record) return fail(record.error());
    if (record->prefix_key != prefix_key) return fail(another_key());
    info = *record;
    return {};
  });
  if (!found) return fail(found.error());
  return info;
}

Result<std::vector<Digest>> LmdbStore::prefixes_of(const Digest& content_key) {
  auto view = file_->read();
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
  if (!file_->heal()) return false;
  const std::lock_guard lock(mutex_);
  return order_.find(prefix_key) != nullptr;
}

Result<void> LmdbStore::put(const SealedRecord& record) {
  if (contains(record.info().prefix_key)) return {};
  if (auto rest = resting()) return fail(*std::move(rest));
  if (record.size() > logical_limit()) {
    return fail(ErrorCode::kBusy,
                "a record of " + human_size(record.size()) + " is larger than max_disk allows");
  }
  const std::lock_guard puts(put_mutex_);
  flush_uses_beyond(kUsesBeforeFlush);
  return write_with_room(record.size(), [&] { return put_once(record); });
}

Result<void> LmdbStore::write_with_room(std::uint64_t bytes, const std::function<Result<void>()>& write) {
  if (pinned_bytes() + bytes > logical_limit()) {
    return fail(ErrorCode::kBusy, "the pinned files fill what max_disk allows");
  }
  for (int round = 0; round < kMostRounds; ++round) {
    Result<void> done = make_room(bytes);
    if (done) done = write();
    if (done) return {};
    if (done.error().code != ErrorCode::kBusy) return fail(failed(done.error()));
    auto grown = file_->grow();
    if (!grown) return fail(grown.error());
    if (*grown) continue;
    // The file may not grow: free pages are too scattered for a run of this length. More of them make one.
    auto evicted = evict(bytes);
    if (!evicted) return fail(failed(evicted.error()));
    if (*evicted == 0) break;
  }
  return fail(ErrorCode::kBusy, "the disk tier has no room for the record");
}

Result<void> LmdbStore::put_once(const SealedRecord& record) {
  const RecordInfo& info = record.info();
  EvictionOrder::Entry entry{.bytes = record.size(),
                             .importance = info.importance,
                             .rebuild_ms = info.rebuild_ms,
                             .model = info.model,
                             .last_use = unix_nanoseconds()};
  {
    const std::lock_guard lock(mutex_);
    entry.credit = order_.new_credit(entry);
    entry.pinned = order_.is_pinned(info.prefix_key);
    writing_ = {info.prefix_key, true};
  }
  auto written = file_->write([&](LmdbEnv::Write& txn) -> Result<void> {
    if (auto put = txn.put(Table::kBlocks, bytes_of(info.prefix_key), record.bytes()); !put) return put;
    if (auto put = txn.put(Table::kContents, bytes_of(info.content_key), bytes_of(info.prefix_key)); !put)
      return put;
    return put_entry(txn, info.prefix_key, entry);
  });
  if (!written) return written;
  const std::lock_guard lock(mutex_);
  const bool pinned = order_.is_pinned(info.prefix_key);
  entry.referenced = writing_.referenced;
  if (std::exchange(entry.pinned, pinned) != pinned || !entry.referenced) {
    used_.insert(info.prefix_key);  // said during the write
  }
  order_.insert(info.prefix_key, entry);
  if (std::exchange(told_, false)) {
    problem_.clear();
    log::info("the cache on disk works again");
  }
  return {};
}

Result<void> LmdbStore::make_room(std::uint64_t bytes) {
  const std::uint64_t held = held_bytes();
  if (held + bytes <= logical_limit()) return {};
  auto evicted = evict(held + bytes - logical_limit());
  if (!evicted) return fail(evicted.error());
  return {};
}

/// Evicts at least `bytes`, if there is so much; returns what was evicted. They are known until they are gone
/// from the file.
Result<std::uint64_t> LmdbStore::evict(std::uint64_t bytes) {
  std::vector<Digest> victims;
  {
    const std::lock_guard lock(mutex_);
    victims = order_.victims(bytes);
  }
  if (auto erased = erase_on_disk(victims); !erased) return fail(erased.error());
  const std::lock_guard lock(mutex_);
  const std::uint64_t before = order_.bytes();
  for (const Digest& victim : victims) order_.evicted(victim);
  evictions_ += victims.size();
  return before - order_.bytes();
}

Result<void> LmdbStore::erase_on_disk(std::span<const Digest> keys) {
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
  auto erased = file_->write(body);
  if (erased || erased.error().code != ErrorCode::kBusy) return erased;
  if (auto grown = file_->grow_to_forget(); !grown) return grown;
  return file_->write(body);
}

Result<bool> LmdbStore::erase(const Digest& prefix_key) {
  const std::lock_guard puts(put_mutex_);
  auto erased = erase_on_disk(std::span(&prefix_key, 1));
  if (!erased) return fail(failed(erased.error()));
  const std::lock_guard lock(mutex_);
  const bool there = order_.find(prefix_key) != nullptr;
  order_.erase(prefix_key);
  return there;
}

Result<void> LmdbStore::erase_all(const std::vector<Digest>& prefix_keys) {
  const std::lock_guard puts(put_mutex_);
  for (std::span<const Digest> left(prefix_keys); !left.empty();) {
    const auto now = left.first(std::min(left.size(), kErasedAtOnce));
    left = left.subspan(now.size());
    if (auto erased = erase_on_disk(now); !erased) return fail(failed(erased.error()));
    const std::lock_guard lock(mutex_);
    for (const Digest& key : now) order_.erase(key);
  }
  return {};
}

void LmdbStore::for_each(const std::function<void(const Digest&, const EvictionOrder::Entry&)>& visit) const {
  const std::lock_guard lock(mutex_);
  order_.for_each(visit);
}

/// Counts a failure, tells it once, and rests.
Error LmdbStore::failed(Error error) {
  const std::lock_guard lock(mutex_);
  ++failures_;
  problem_ = error.text();
  rest_until_ = std::chrono::steady_clock::now() + kRest;
  if (!std::exchange(told_, true))
    log::warn("the cache on disk fails, blocks are not kept: {}", error.text());
  return error;
}

std::optional<Error> LmdbStore::resting() const {
  const std::lock_guard lock(mutex_);
  if (std::chrono::steady_clock::now() >= rest_until_) return std::nullopt;
  return Error{ErrorCode::kBusy, problem_, {}};
}

std::vector<TierStats> LmdbStore::stats() const {
  TierStats stats;
  stats.name = "disk";
  stats.used = file_->bytes();
  stats.limit = file_->limits().max_bytes;
  stats.problem = file_->problem();
  const std::lock_guard lock(mutex_);  // not while the file is asked: healing takes both in the other order
  stats.records = order_.size();
  stats.bytes = order_.bytes();
  stats.hits = hits_;
  stats.misses = misses_;
  stats.evictions = evictions_;
  stats.corrupt = corrupt_;
  stats.failures = failures_;
  if (!problem_.empty()) stats.problem = problem_;
  return {stats};
}

}  // namespace kvboost::cache
