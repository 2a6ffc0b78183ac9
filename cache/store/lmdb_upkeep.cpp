// SPDX-License-Identifier: Apache-2.0
// The part of LmdbStore that keeps its books: uses and marks on their way to the disk, and verification.
#include "cache/store/lmdb_store.h"
#include "cache/store/meta_row.h"

namespace kvboost::cache {
namespace {

/// Uses of records that are there still.
Result<void> put_uses(LmdbEnv::Write& txn, const std::vector<std::pair<Digest, EvictionOrder::Entry>>& uses) {
  for (const auto& [key, entry] : uses) {
    auto there = txn.get(Table::kBlocks, bytes_of(key));
    if (!there) return fail(there.error());
    if (!*there) continue;
    if (auto put = put_entry(txn, key, entry); !put) return put;
  }
  return {};
}

}  // namespace

Result<std::uint64_t> LmdbStore::verify(const std::function<bool(std::uint64_t, std::uint64_t)>& progress) {
  std::vector<Digest> keys;
  for_each([&](const Digest& key, const EvictionOrder::Entry&) { keys.push_back(key); });
  std::uint64_t before = 0;
  {
    const std::lock_guard lock(mutex_);
    before = corrupt_;
  }
  for (std::size_t i = 0; i < keys.size(); ++i) {
    auto whole = read(keys[i], false, [&](const auto&, Bytes bytes) -> Result<void> {
      auto record = open_record(bytes);
      if (!record) return fail(record.error());
      return {};
    });
    if (!whole) return fail(whole.error());
    if (progress && !progress(i + 1, keys.size())) break;
  }
  const std::lock_guard lock(mutex_);
  return corrupt_ - before;
}

void LmdbStore::set_referenced(const Digest& prefix_key, bool referenced) {
  const std::lock_guard lock(mutex_);
  if (order_.set_referenced(prefix_key, referenced)) used_.insert(prefix_key);
  if (prefix_key == writing_.key) writing_.referenced = referenced;
}

void LmdbStore::set_pinned(const Digest& prefix_key, bool pinned) {
  const std::lock_guard lock(mutex_);
  if (order_.set_pinned(prefix_key, pinned)) used_.insert(prefix_key);
}

Result<void> LmdbStore::write_rows(std::uint64_t bytes,
                                   const std::function<Result<void>(LmdbEnv::Write&)>& body) {
  if (auto rest = resting()) return fail(*std::move(rest));
  const std::lock_guard puts(put_mutex_);
  const Uses uses = take_uses_beyond(0);
  return write_with_room(bytes, [&] {
    return file_->write([&](LmdbEnv::Write& txn) -> Result<void> {
      if (auto done = put_uses(txn, uses); !done) return done;
      return body(txn);
    });
  });
}

std::uint64_t LmdbStore::generation() const {
  const std::lock_guard lock(mutex_);
  return generation_;
}

LmdbStore::Uses LmdbStore::take_uses_beyond(std::size_t count) {
  Uses uses;
  const std::lock_guard lock(mutex_);
  if (used_.size() <= count) return uses;
  for (const Digest& key : used_) {
    if (const auto* entry = order_.find(key)) uses.emplace_back(key, *entry);
  }
  used_.clear();
  return uses;
}

void LmdbStore::flush_uses_beyond(std::size_t count) {
  const Uses uses = take_uses_beyond(count);
  if (uses.empty()) return;
  const auto written = file_->write([&](LmdbEnv::Write& txn) { return put_uses(txn, uses); });
  // A full map refuses even this; the order in memory stays right, only a restart would not know of these
  // uses.
  if (!written && written.error().code != ErrorCode::kBusy) (void)failed(written.error());
}

}  // namespace kvboost::cache
