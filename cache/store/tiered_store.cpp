// SPDX-License-Identifier: Apache-2.0
#include "cache/store/tiered_store.h"

#include <pthread.h>

#include <algorithm>
#include <utility>

#include "base/log.h"

namespace kvboost::cache {
namespace {

constexpr std::size_t kMostSeenOnce = 65536;

}  // namespace

TieredStore::TieredStore(std::unique_ptr<MemoryStore> memory, std::unique_ptr<LmdbStore> disk,
                         std::uint64_t queue_bytes)
    : memory_(std::move(memory)), disk_(std::move(disk)), queue_bytes_(queue_bytes) {
  if (disk_ == nullptr) return;
  writer_ = std::jthread([this](const std::stop_token& stop) {
    pthread_setname_np(pthread_self(), "kv-writer");
    write_behind(stop);
  });
}

TieredStore::~TieredStore() {
  if (!writer_.joinable()) return;
  writer_.request_stop();
  changed_.notify_all();
  writer_.join();
}

Result<std::optional<RecordRef>> TieredStore::get(const Digest& prefix_key) {
  auto held = memory_->get(prefix_key);
  if (!held || *held || disk_ == nullptr) return held;
  if (auto waiting = queued(prefix_key)) return waiting;
  auto read = disk_->get(prefix_key);
  if (!read || !*read)
    return std::optional<RecordRef>{};  // counted and told by the tier; the request goes on
  return seen_before(prefix_key) ? move_up(**read) : **read;
}

Result<std::optional<RecordInfo>> TieredStore::load(const Digest& prefix_key,
                                                    std::vector<std::uint16_t>& block) {
  auto held = memory_->load(prefix_key, block);
  if (!held || *held || disk_ == nullptr) return held;
  if (auto waiting = queued(prefix_key)) return decode(*waiting, block);
  if (!disk_->contains(prefix_key) || !seen_before(prefix_key)) {
    auto read = disk_->load(prefix_key, block);
    return read ? read : std::optional<RecordInfo>{};  // as in get
  }
  auto read = disk_->get(prefix_key);
  if (!read || !*read) return std::optional<RecordInfo>{};
  return decode(move_up(**read), block);
}

bool TieredStore::seen_before(const Digest& prefix_key) {
  const std::lock_guard lock(mutex_);
  if (seen_once_.size() >= kMostSeenOnce) seen_once_.clear();
  return !seen_once_.insert(prefix_key).second;
}

RecordRef TieredStore::move_up(const RecordRef& read) {
  const SealedRecord copy(read);
  const auto kept = memory_->put(copy);
  return kept ? copy.ref() : read;
}

std::optional<RecordRef> TieredStore::queued(const Digest& prefix_key) const {
  const std::lock_guard lock(mutex_);
  const auto found = pending_.find(prefix_key);
  if (found == pending_.end()) return std::nullopt;
  return found->second.record.ref();
}

Result<std::vector<Digest>> TieredStore::prefixes_of(const Digest& content_key) {
  auto keys = memory_->prefixes_of(content_key);
  if (!keys) return keys;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [prefix_key, pending] : pending_) {
      if (pending.record.info().content_key == content_key) keys->push_back(prefix_key);
    }
  }
  if (disk_ != nullptr) {
    if (auto more = disk_->prefixes_of(content_key)) keys->insert(keys->end(), more->begin(), more->end());
  }
  std::ranges::sort(*keys);
  keys->erase(std::ranges::unique(*keys).begin(), keys->end());
  return keys;
}

bool TieredStore::contains(const Digest& prefix_key) {
  if (memory_->contains(prefix_key) || (disk_ != nullptr && disk_->contains(prefix_key))) return true;
  const std::lock_guard lock(mutex_);
  return pending_.contains(prefix_key);
}

Result<void> TieredStore::put(const SealedRecord& record) {
  const auto kept = memory_->put(record);
  if (disk_ == nullptr) return kept;
  const Digest& key = record.info().prefix_key;
  if (disk_->contains(key)) return {};
  {
    const std::lock_guard lock(mutex_);
    if (pending_.contains(key)) return {};
    if (pending_bytes_ + record.size() > queue_bytes_) {
      if (kept) return {};  // in memory at least
      return fail(ErrorCode::kBusy, "the cache cannot keep up with what is computed");
    }
    pending_.emplace(key, Pending{record});
    pending_bytes_ += record.size();
    queue_.push_back(key);
    ++queued_;
  }
  changed_.notify_all();
  return {};
}

Result<bool> TieredStore::erase(const Digest& prefix_key) {
  auto erased = memory_->erase(prefix_key);
  flush();
  if (disk_ == nullptr) return erased;
  auto on_disk = disk_->erase(prefix_key);
  if (!on_disk) return on_disk;
  return *on_disk || erased.value_or(false);
}

void TieredStore::write_behind(const std::stop_token& stop) {
  for (;;) {
    std::optional<SealedRecord> record;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, stop, [&] { return !queue_.empty(); });
      if (queue_.empty()) return;  // stopped, and all is written
      record = pending_.at(queue_.front()).record;
      queue_.pop_front();
    }
    const auto written = disk_->put(*record);  // what it refuses it has counted and told
    if (!written) log::debug("a block was not written: {}", written.error().message);
    const Digest& key = record->info().prefix_key;
    {
      const std::lock_guard lock(mutex_);
      if (!pending_.at(key).referenced) disk_->set_referenced(key, false);
      pending_bytes_ -= record->size();
      pending_.erase(key);
      ++written_;
    }
    changed_.notify_all();
  }
}

bool TieredStore::wait_for_room(std::uint64_t bytes, std::stop_token stop) {
  std::unique_lock lock(mutex_);
  return changed_.wait(lock, stop,
                       [&] { return pending_.empty() || pending_bytes_ + bytes <= queue_bytes_; });
}

void TieredStore::flush() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&, all = queued_] { return written_ >= all; });
}

void TieredStore::set_referenced(const Digest& prefix_key, bool referenced) {
  memory_->set_referenced(prefix_key, referenced);
  if (disk_ == nullptr) return;
  const std::lock_guard lock(mutex_);
  disk_->set_referenced(prefix_key, referenced);
  const auto found = pending_.find(prefix_key);
  if (found != pending_.end()) found->second.referenced = referenced;
}

void TieredStore::set_pinned(const Digest& prefix_key, bool pinned) {
  if (disk_ != nullptr) {
    disk_->set_pinned(prefix_key, pinned);
  } else {
    memory_->set_pinned(prefix_key, pinned);
  }
}

void TieredStore::for_each(const std::function<void(const Digest&, const Item&)>& visit) {
  flush();
  std::unordered_map<Digest, Item, DigestHash> items;
  memory_->for_each([&](const Digest& key, const EvictionOrder::Entry& entry) {
    items[key] = {.entry = entry, .in_memory = true};
  });
  if (disk_ != nullptr) {
    disk_->for_each([&](const Digest& key, const EvictionOrder::Entry& entry) {
      Item& item = items[key];
      const std::int64_t last_use = std::max(item.entry.last_use, entry.last_use);
      item.entry = entry;
      item.entry.last_use = last_use;
      item.on_disk = true;
    });
  }
  for (const auto& [key, item] : items) visit(key, item);
}

Result<TieredStore::Removed> TieredStore::remove_if(
    const std::function<bool(const Digest&, const Item&)>& chosen, bool dry_run) {
  std::vector<Digest> keys;
  Removed removed;
  for_each([&](const Digest& key, const Item& item) {
    if (!chosen(key, item)) return;
    keys.push_back(key);
    ++removed.records;
    removed.bytes += item.entry.bytes;
  });
  if (dry_run) return removed;
  for (const Digest& key : keys) (void)memory_->erase(key);
  if (disk_ == nullptr) return removed;
  if (auto erased = disk_->erase_all(keys); !erased) return fail(erased.error());
  return removed;
}

Result<std::uint64_t> TieredStore::verify(const std::function<bool(std::uint64_t, std::uint64_t)>& progress) {
  flush();
  if (disk_ == nullptr) return 0;
  return disk_->verify(progress);
}

std::uint64_t TieredStore::queued_bytes() const {
  const std::lock_guard lock(mutex_);
  return pending_bytes_;
}

std::vector<TierStats> TieredStore::stats() const {
  std::vector<TierStats> all = memory_->stats();
  if (disk_ != nullptr) all.push_back(disk_->stats().front());
  return all;
}

}  // namespace kvboost::cache
