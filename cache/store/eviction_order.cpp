// SPDX-License-Identifier: Apache-2.0
#include "cache/store/eviction_order.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>

namespace kvboost::cache {
namespace {

/// How far one record may outweigh the average one, so that no number from a damaged file rules the cache.
constexpr double kMostWeight = 4.0;
/// Weights that differ by less than a sixteenth are equal, and then it is LRU.
constexpr double kWeightSteps = 16.0;

float sound(float value) {
  return std::isfinite(value) ? std::max(0.0F, value) : 0.0F;
}

double cost_a_byte(const EvictionOrder::Entry& entry) {
  return entry.bytes == 0 ? 0 : static_cast<double>(entry.rebuild_ms) / static_cast<double>(entry.bytes);
}

double relative(double value, double sum, std::size_t count) {
  if (!(sum > 0)) return 1;
  return std::clamp(value * static_cast<double>(count) / sum, 1 / kMostWeight, kMostWeight);
}

}  // namespace

std::int64_t unix_nanoseconds() {
  return std::chrono::system_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
}

double EvictionOrder::weight(const Entry& entry) const {
  const double exact = relative(entry.importance, importance_sum_, entries_.size()) *
                       relative(cost_a_byte(entry), cost_sum_, entries_.size());
  return std::round(exact * kWeightSteps) / kWeightSteps;
}

double EvictionOrder::new_credit(const Entry& entry) const {
  return floor_ + weight(entry);
}

void EvictionOrder::restore_floor() {
  double lowest = std::numeric_limits<double>::infinity();
  for (const auto& [key, slot] : entries_) lowest = std::min(lowest, slot.entry.credit);
  if (std::isfinite(lowest)) floor_ = std::max(floor_, lowest);
}

EvictionOrder::Place EvictionOrder::place_of(const Digest& key, const Slot& slot) {
  return {slot.entry.referenced, slot.entry.credit, slot.turn, key};
}

void EvictionOrder::insert(const Digest& key, const Entry& entry) {
  erase(key);
  Slot& slot = entries_[key];
  slot = {entry, next_turn_++};
  slot.entry.importance = sound(entry.importance);
  slot.entry.rebuild_ms = sound(entry.rebuild_ms);
  if (entry.pinned) pinned_.insert(key);
  slot.entry.pinned = pinned_.contains(key);
  bytes_ += entry.bytes;
  importance_sum_ += slot.entry.importance;
  cost_sum_ += cost_a_byte(slot.entry);
  if (!std::isfinite(entry.credit) || entry.credit <= 0) slot.entry.credit = new_credit(slot.entry);
  enter(key, slot);
}

void EvictionOrder::enter(const Digest& key, const Slot& slot) {
  if (slot.entry.pinned) {
    pinned_bytes_ += slot.entry.bytes;
  } else {
    order_.insert(place_of(key, slot));
  }
}

void EvictionOrder::leave(const Digest& key, const Slot& slot) {
  if (slot.entry.pinned) {
    pinned_bytes_ -= slot.entry.bytes;
  } else {
    order_.erase(place_of(key, slot));
  }
}

void EvictionOrder::touch(const Digest& key, std::int64_t time) {
  const auto found = entries_.find(key);
  if (found == entries_.end()) return;
  leave(key, found->second);
  found->second.entry.credit = new_credit(found->second.entry);
  found->second.entry.last_use = time;
  found->second.turn = next_turn_++;
  enter(key, found->second);
}

void EvictionOrder::erase(const Digest& key) {
  const auto found = entries_.find(key);
  if (found == entries_.end()) return;
  const Entry& entry = found->second.entry;
  bytes_ -= entry.bytes;
  importance_sum_ -= entry.importance;
  cost_sum_ -= cost_a_byte(entry);
  leave(key, found->second);
  entries_.erase(found);
}

bool EvictionOrder::set_referenced(const Digest& key, bool referenced) {
  const auto found = entries_.find(key);
  if (found == entries_.end() || found->second.entry.referenced == referenced) return false;
  leave(key, found->second);
  found->second.entry.referenced = referenced;
  enter(key, found->second);
  return true;
}

bool EvictionOrder::set_pinned(const Digest& key, bool pinned) {
  if (pinned) {
    pinned_.insert(key);
  } else {
    pinned_.erase(key);
  }
  const auto found = entries_.find(key);
  if (found == entries_.end() || found->second.entry.pinned == pinned) return false;
  leave(key, found->second);
  found->second.entry.pinned = pinned;
  enter(key, found->second);
  return true;
}

const EvictionOrder::Entry* EvictionOrder::find(const Digest& key) const {
  const auto found = entries_.find(key);
  return found == entries_.end() ? nullptr : &found->second.entry;
}

std::optional<Digest> EvictionOrder::victim(const std::function<bool(const Digest&)>& spared) const {
  for (const Place& place : order_) {
    if (!spared || !spared(place.key)) return place.key;
  }
  return std::nullopt;
}

std::vector<Digest> EvictionOrder::victims(std::uint64_t bytes) const {
  std::vector<Digest> keys;
  std::uint64_t sum = 0;
  for (auto place = order_.begin(); place != order_.end() && sum < bytes; ++place) {
    keys.push_back(place->key);
    sum += entries_.at(place->key).entry.bytes;
  }
  return keys;
}

void EvictionOrder::evicted(const Digest& key) {
  if (const Entry* entry = find(key); entry != nullptr) floor_ = std::max(floor_, entry->credit);
  erase(key);
}

void EvictionOrder::for_each(const std::function<void(const Digest&, const Entry&)>& visit) const {
  for (const auto& [key, slot] : entries_) visit(key, slot.entry);
}

}  // namespace kvboost::cache
