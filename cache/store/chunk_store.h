// SPDX-License-Identifier: Apache-2.0
// ChunkStore: where records are kept, found by prefix key (the same tokens behind the same left context) and
// by content key (the same tokens behind whatever). Tiers stand behind this one interface. Any thread may
// call any method.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/digest.h"
#include "base/error.h"
#include "cache/store/record.h"

namespace kvboost::cache {

/// A record that stays where it is while this handle lives, whatever is evicted meanwhile. Its checksum was
/// verified. Hold it for as long as a decode takes, no longer: one in the disk tier keeps a read transaction
/// open.
class RecordRef {
 public:
  RecordRef(RecordView view, std::shared_ptr<const void> pin) : view_(view), pin_(std::move(pin)) {}
  [[nodiscard]] const RecordInfo& info() const { return view_.info; }
  [[nodiscard]] std::span<const std::byte> payload() const { return view_.payload; }
  [[nodiscard]] std::size_t bytes() const { return kRecordHeaderBytes + view_.payload.size(); }
  /// Header and payload.
  [[nodiscard]] std::span<const std::byte> record() const {
    return {view_.payload.data() - kRecordHeaderBytes, bytes()};
  }

 private:
  RecordView view_;
  std::shared_ptr<const void> pin_;
};

/// A record on its way in: bytes in memory whose checksum is known to be right, shared with whoever still
/// reads them. A value, cheap to copy.
class SealedRecord {
 public:
  SealedRecord(const RecordInfo& info, std::span<const std::byte> payload)
      : bytes_(std::make_shared<const std::vector<std::byte>>(seal_record(info, payload))),
        view_{info, std::span(*bytes_).subspan(kRecordHeaderBytes)} {}
  /// A copy of one that lies in another tier.
  explicit SealedRecord(const RecordRef& other)
      : bytes_(std::make_shared<const std::vector<std::byte>>(other.record().begin(), other.record().end())),
        view_{other.info(), std::span(*bytes_).subspan(kRecordHeaderBytes)} {}

  [[nodiscard]] const RecordInfo& info() const { return view_.info; }
  /// Header and payload.
  [[nodiscard]] std::span<const std::byte> bytes() const { return *bytes_; }
  [[nodiscard]] std::uint64_t size() const { return bytes_->size(); }
  [[nodiscard]] RecordRef ref() const { return {view_, bytes_}; }
  /// Whether another copy or a RecordRef of it lives.
  [[nodiscard]] bool shared() const { return bytes_.use_count() > 1; }

 private:
  std::shared_ptr<const std::vector<std::byte>> bytes_;
  RecordView view_;
};

struct TierStats {
  std::string name;  // "memory", "disk"
  std::uint64_t records = 0;
  std::uint64_t bytes = 0;  // of records
  std::uint64_t used = 0;   // what the tier takes of memory or disk, overhead included
  std::uint64_t limit = 0;
  std::uint64_t hits = 0;
  std::uint64_t misses = 0;
  std::uint64_t evictions = 0;
  std::uint64_t corrupt = 0;
  std::uint64_t failures = 0;  // operations that failed; the service went on without
  std::string problem;         // why the tier is off or was rebuilt, in one line, or empty
};

/// Decodes the record's block into `block`; nothing when what was put is no block of the shape that it says.
[[nodiscard]] std::optional<RecordInfo> decode(const RecordRef& record, std::vector<std::uint16_t>& block);

class ChunkStore {
 public:
  virtual ~ChunkStore() = default;

  /// Three outcomes: the record; nothing (absent); an error (the tier failed: go on uncached).
  [[nodiscard]] virtual Result<std::optional<RecordRef>> get(const Digest& prefix_key) = 0;
  /// As get, and decodes the block into `block`; pins nothing.
  [[nodiscard]] virtual Result<std::optional<RecordInfo>> load(const Digest& prefix_key,
                                                               std::vector<std::uint16_t>& block);
  /// Prefix keys of records with this content, in no order.
  [[nodiscard]] virtual Result<std::vector<Digest>> prefixes_of(const Digest& content_key) = 0;
  /// Whether a record is there, without touching its recency.
  [[nodiscard]] virtual bool contains(const Digest& prefix_key) = 0;
  /// Takes a record, evicting others to make room. One that is there already is left alone.
  [[nodiscard]] virtual Result<void> put(const SealedRecord& record) = 0;
  /// True if it was there.
  virtual Result<bool> erase(const Digest& prefix_key) = 0;
  /// Whether a tracked work tree refers to it: those that none refers to are evicted first. True at `put`.
  virtual void set_referenced(const Digest& prefix_key, bool referenced) = 0;
  /// A pinned one is never evicted. Holds for a record that comes later, too.
  virtual void set_pinned(const Digest& prefix_key, bool pinned) = 0;
  [[nodiscard]] virtual std::vector<TierStats> stats() const = 0;
};

}  // namespace kvboost::cache
