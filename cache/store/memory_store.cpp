// SPDX-License-Identifier: Apache-2.0
#include "cache/store/memory_store.h"

#include <utility>

namespace kvboost::cache {

Result<std::optional<RecordRef>> MemoryStore::get(const Digest& prefix_key) {
  const std::lock_guard lock(mutex_);
  const auto found = records_.find(prefix_key);
  if (found == records_.end()) {
    ++misses_;
    return std::nullopt;
  }
  ++hits_;
  order_.touch(prefix_key, unix_nanoseconds());
  return found->second.ref();
}

Result<std::vector<Digest>> MemoryStore::prefixes_of(const Digest& content_key) {
  const std::lock_guard lock(mutex_);
  std::vector<Digest> keys;
  const auto [first, last] = by_content_.equal_range(content_key);
  for (auto it = first; it != last; ++it) keys.push_back(it->second);
  return keys;
}

bool MemoryStore::contains(const Digest& prefix_key) {
  const std::lock_guard lock(mutex_);
  return records_.contains(prefix_key);
}

std::optional<SealedRecord> MemoryStore::find(const Digest& prefix_key) const {
  const std::lock_guard lock(mutex_);
  const auto found = records_.find(prefix_key);
  if (found == records_.end()) return std::nullopt;
  return found->second;
}

Result<void> MemoryStore::put(const SealedRecord& record) {
  const RecordInfo& info = record.info();
  const std::uint64_t bytes = record.size() + kOverhead;
  const std::lock_guard lock(mutex_);
  if (records_.contains(info.prefix_key)) return {};
  if (!make_room_locked(bytes)) return fail(ErrorCode::kBusy, "the memory tier has no room for the record");
  records_.emplace(info.prefix_key, record);
  by_content_.emplace(info.content_key, info.prefix_key);
  order_.insert(info.prefix_key, {.bytes = bytes,
                                  .importance = info.importance,
                                  .rebuild_ms = info.rebuild_ms,
                                  .model = info.model,
                                  .last_use = unix_nanoseconds()});
  return {};
}

bool MemoryStore::make_room_locked(std::uint64_t bytes) {
  if (bytes > limit_) return false;
  const auto in_use = [&](const Digest& key) { return records_.at(key).shared(); };
  while (order_.bytes() + bytes > limit_) {
    const auto victim = order_.victim(in_use);
    if (!victim) return false;
    order_.evicted(*victim);
    erase_locked(*victim);
    ++evictions_;
  }
  return true;
}

Result<bool> MemoryStore::erase(const Digest& prefix_key) {
  const std::lock_guard lock(mutex_);
  const bool there = records_.contains(prefix_key);
  if (there) erase_locked(prefix_key);
  return there;
}

void MemoryStore::erase_locked(const Digest& prefix_key) {
  order_.erase(prefix_key);
  const auto found = records_.find(prefix_key);
  const auto [first, last] = by_content_.equal_range(found->second.info().content_key);
  for (auto it = first; it != last; ++it) {
    if (it->second == prefix_key) {
      by_content_.erase(it);
      break;
    }
  }
  records_.erase(found);
}

void MemoryStore::set_referenced(const Digest& prefix_key, bool referenced) {
  const std::lock_guard lock(mutex_);
  order_.set_referenced(prefix_key, referenced);
}

void MemoryStore::set_pinned(const Digest& prefix_key, bool pinned) {
  const std::lock_guard lock(mutex_);
  order_.set_pinned(prefix_key, pinned);
}

void MemoryStore::for_each(
    const std::function<void(const Digest&, const EvictionOrder::Entry&)>& visit) const {
  const std::lock_guard lock(mutex_);
  order_.for_each([&](const Digest& key, EvictionOrder::Entry entry) {
    entry.bytes -= kOverhead;
    visit(key, entry);
  });
}

std::vector<TierStats> MemoryStore::stats() const {
  const std::lock_guard lock(mutex_);
  TierStats stats;
  stats.name = "memory";
  stats.records = records_.size();
  stats.bytes = order_.bytes() - kOverhead * records_.size();
  stats.used = order_.bytes();
  stats.limit = limit_;
  stats.hits = hits_;
  stats.misses = misses_;
  stats.evictions = evictions_;
  return {stats};
}

}  // namespace kvboost::cache
