// SPDX-License-Identifier: Apache-2.0
// EvictionOrder: which record goes first when a tier is full. GreedyDual (Young 1994; Cao and Irani 1997): a
// record's credit is set to the floor plus its weight whenever it is used, the smallest credit goes, and the
// floor rises to it. With equal weights that is LRU; a weighty record outlives others that were used as
// recently. The weight is the block's importance times what it cost to compute a byte of it, each relative to
// the mean. Records that no tracked work tree refers to go before all others, pinned
// ones never. Owned and locked by a tier.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/digest.h"

namespace kvboost::cache {

/// Now, as `last_use` counts.
[[nodiscard]] std::int64_t unix_nanoseconds();

class EvictionOrder {
 public:
  struct Entry {
    std::uint64_t bytes = 0;
    float importance = 0;
    float rebuild_ms = 0;
    bool referenced = true;
    bool pinned = false;
    double credit = 0;          // kept across restarts; 0: not given yet
    Digest model{};             // whose block it is
    std::int64_t last_use = 0;  // Unix nanoseconds
  };

  /// Adds or replaces.
  void insert(const Digest& key, const Entry& entry);
  /// It was used at `time` (Unix nanoseconds): its credit is renewed. Nothing if it is absent.
  void touch(const Digest& key, std::int64_t time = 0);
  void erase(const Digest& key);
  /// What a new entry would get: to be written down with it.
  [[nodiscard]] double new_credit(const Entry& entry) const;
  /// After entries of an earlier run were inserted: new ones shall not rank below all of them.
  void restore_floor();
  /// Like set_pinned, true if that is news of an entry that is there.
  bool set_referenced(const Digest& key, bool referenced);
  /// Holds for an entry of this key that comes later, too.
  bool set_pinned(const Digest& key, bool pinned);
  [[nodiscard]] bool is_pinned(const Digest& key) const { return pinned_.contains(key); }

  [[nodiscard]] const Entry* find(const Digest& key) const;
  /// The next to go that `spared` does not hold back.
  [[nodiscard]] std::optional<Digest> victim(const std::function<bool(const Digest&)>& spared = {}) const;
  /// The next to go, in their order, until they make `bytes` together; fewer when all others are pinned.
  [[nodiscard]] std::vector<Digest> victims(std::uint64_t bytes) const;
  /// Says that `key` was evicted for room: the floor rises to its credit.
  void evicted(const Digest& key);

  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  [[nodiscard]] std::uint64_t pinned_bytes() const { return pinned_bytes_; }
  [[nodiscard]] std::size_t size() const { return entries_.size(); }
  void for_each(const std::function<void(const Digest&, const Entry&)>& visit) const;

 private:
  struct Place {
    bool referenced;
    double credit;
    std::uint64_t turn;  // among equals, the one used longest ago goes first
    Digest key;
    auto operator<=>(const Place&) const = default;
  };
  struct Slot {
    Entry entry;
    std::uint64_t turn = 0;
  };

  [[nodiscard]] double weight(const Entry& entry) const;
  [[nodiscard]] static Place place_of(const Digest& key, const Slot& slot);
  void enter(const Digest& key, const Slot& slot);
  void leave(const Digest& key, const Slot& slot);

  std::unordered_map<Digest, Slot, DigestHash> entries_;
  std::unordered_set<Digest, DigestHash> pinned_;
  std::set<Place> order_;  // of those that are not pinned
  double floor_ = 0;
  std::uint64_t next_turn_ = 1;
  std::uint64_t bytes_ = 0;
  std::uint64_t pinned_bytes_ = 0;
  double importance_sum_ = 0;
  double cost_sum_ = 0;  // of rebuild_ms a byte
};

}  // namespace kvboost::cache
