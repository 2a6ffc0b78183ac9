// SPDX-License-Identifier: Apache-2.0
#include "cache/store/tiered_store.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "base/log.h"

namespace kvboost::cache {
namespace {

constexpr std::size_t kMostSeenOnce = 65536;

}  // namespace

Result<std::optional<RecordRef>> TieredStore::get(const Digest& prefix_key) {
  auto held = memory_->get(prefix_key);
  if (!held || *held || disk_ == nullptr) return held;
  auto read = disk_->get(prefix_key);
  if (!read || !*read)
    return std::optional<RecordRef>{};  // counted and told by the tier; the request goes on
  return seen_before(prefix_key) ? move_up(**read) : **read;
}

Result<std::optional<RecordInfo>> TieredStore::load(const Digest& prefix_key,
                                                    std::vector<std::uint16_t>& block) {
  auto held = memory_->load(prefix_key, block);
  if (!held || *held || disk_ == nullptr) return held;
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

Result<std::vector<Digest>> TieredStore::prefixes_of(const Digest& content_key) {
  auto keys = memory_->prefixes_of(content_key);
  if (!keys) return keys;
  if (disk_ != nullptr) {
    if (auto more = disk_->prefixes_of(content_key)) keys->insert(keys->end(), more->begin(), more->end());
  }
  std::ranges::sort(*keys);
  keys->erase(std::ranges::unique(*keys).begin(), keys->end());
  return keys;
}

bool TieredStore::contains(const Digest& prefix_key) {
  return memory_->contains(prefix_key) || (disk_ != nullptr && disk_->contains(prefix_key));
}

Result<void> TieredStore::put(const SealedRecord& record) {
  const auto held = memory_->put(record);
  if (disk_ == nullptr) return held;
  const auto written = disk_->put(record);  // what it refuses it has counted and told
  if (!written && held) behind_ = true;
  return written;
}

TieredStore::CaughtUp TieredStore::catch_up() {
  CaughtUp done;
  if (disk_ == nullptr) return done;
  const std::uint64_t generation = disk_->generation();
  const bool lost = caught_up_with_.exchange(generation) != generation;
  if (!behind_.exchange(false) && !lost) return done;
  std::vector<Digest> keys;
  memory_->for_each([&](const Digest& key, const EvictionOrder::Entry&) { keys.push_back(key); });
  for (const Digest& key : keys) {
    const auto record = memory_->find(key);
    if (!record || disk_->contains(key)) continue;
    if (const auto written = disk_->put(*record); written) {
      done.written += record->size();
    } else {
      behind_ = true;
      done.refused += record->size();
      done.refusal = written.error().text();
    }
  }
  return done;
}

Result<bool> TieredStore::erase(const Digest& prefix_key) {
  auto erased = memory_->erase(prefix_key);
  if (disk_ == nullptr) return erased;
  auto on_disk = disk_->erase(prefix_key);
  if (!on_disk) return on_disk;
  return *on_disk || erased.value_or(false);
}

void TieredStore::set_referenced(const Digest& prefix_key, bool referenced) {
  memory_->set_referenced(prefix_key, referenced);
  if (disk_ != nullptr) disk_->set_referenced(prefix_key, referenced);
}

void TieredStore::set_pinned(const Digest& prefix_key, bool pinned) {
  if (disk_ != nullptr) {
    disk_->set_pinned(prefix_key, pinned);
  } else {
    memory_->set_pinned(prefix_key, pinned);
  }
}

void TieredStore::for_each(const std::function<void(const Digest&, const Item&)>& visit) {
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
  if (auto given = disk_->give_back(); !given) log::debug("{}", given.error().message);
  return removed;
}

Result<std::uint64_t> TieredStore::verify(const std::function<bool(std::uint64_t, std::uint64_t)>& progress) {
  if (disk_ == nullptr) return 0;
  return disk_->verify(progress);
}

std::vector<TierStats> TieredStore::stats() const {
  std::vector<TierStats> all = memory_->stats();
  if (disk_ != nullptr) all.push_back(disk_->stats().front());
  return all;
}

}  // namespace kvboost::cache
