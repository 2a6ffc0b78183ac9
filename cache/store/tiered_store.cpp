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
  {
    const std::lock_guard lock(mutex_);
    if (seen_once_.size() >= kMostSeenOnce) seen_once_.clear();
    if (seen_once_.insert(prefix_key).second) return read;
    seen_once_.erase(prefix_key);
  }
  const auto bytes = (*read)->record();
  const auto copy = std::make_shared<const std::vector<std::byte>>(bytes.begin(), bytes.end());
  if (auto kept = memory_->put(copy); !kept) return read;
  return memory_->get(prefix_key);
}

std::optional<RecordRef> TieredStore::queued(const Digest& prefix_key) const {
  const std::lock_guard lock(mutex_);
  const auto found = pending_.find(prefix_key);
  if (found == pending_.end()) return std::nullopt;
  auto view = open_record(*found->second);
  if (!view) return std::nullopt;
  return RecordRef(*view, found->second);
}

Result<std::vector<Digest>> TieredStore::prefixes_of(const Digest& content_key) {
  auto keys = memory_->prefixes_of(content_key);
  if (!keys) return keys;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [prefix_key, record] : pending_) {
      if (content_key_of(*record) == content_key) keys->push_back(prefix_key);
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
  auto view = open_record(*record);
  if (!view) return fail(view.error());
  const auto kept = memory_->put(record);
  if (disk_ == nullptr) return kept;
  const Digest& key = view->info.prefix_key;
  if (disk_->contains(key)) return {};
  {
    const std::lock_guard lock(mutex_);
    if (pending_.contains(key)) return {};
    if (pending_bytes_ + record->size() > queue_bytes_) {
      if (kept) return {};  // in memory at least
      return fail(ErrorCode::kBusy, "the cache cannot keep up with what is computed");
    }
    pending_.emplace(key, record);
    pending_bytes_ += record->size();
    queue_.push_back(key);
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
    SealedRecord record;
    Digest key;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, stop, [&] { return !queue_.empty(); });
      if (queue_.empty()) return;  // stopped, and all is written
      key = queue_.front();
      queue_.pop_front();
      record = pending_.at(key);
    }
    const auto written = disk_->put(record);  // what it refuses it has counted and told
    if (!written) log::debug("a block was not written: {}", written.error().message);
    {
      const std::lock_guard lock(mutex_);
      pending_bytes_ -= record->size();
      pending_.erase(key);
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
  changed_.wait(lock, [&] { return pending_.empty(); });
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
