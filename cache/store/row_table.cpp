// SPDX-License-Identifier: Apache-2.0
#include "cache/store/row_table.h"

#include <algorithm>
#include <mutex>

namespace kvboost::cache {
namespace {

/// What a row costs beyond its bytes: its key, and its part of a half-full page.
constexpr std::uint64_t kRowOverhead = 256;

bool begins_with(std::span<const std::byte> key, std::span<const std::byte> prefix) {
  return key.size() >= prefix.size() && std::ranges::equal(key.first(prefix.size()), prefix);
}

class MemoryRows final : public RowTable {
 public:
  Result<std::optional<RowBytes>> get(const RowKey& key) override {
    const std::lock_guard lock(mutex_);
    const auto found = rows_.find(key);
    if (found == rows_.end()) return std::nullopt;
    return found->second;
  }

  Result<void> for_each(std::span<const std::byte> prefix, const Visit& visit) override {
    const std::lock_guard lock(mutex_);
    RowKey first{};
    std::ranges::copy(prefix, first.begin());
    for (auto row = rows_.lower_bound(first); row != rows_.end() && begins_with(row->first, prefix); ++row) {
      visit(row->first, row->second);
    }
    return {};
  }

  Result<void> write(const std::vector<Change>& changes) override {
    const std::lock_guard lock(mutex_);
    for (const Change& change : changes) {
      if (change.row) {
        rows_.insert_or_assign(change.key, *change.row);
      } else {
        rows_.erase(change.key);
      }
    }
    return {};
  }

  std::uint64_t generation() const override { return 0; }

 private:
  std::mutex mutex_;
  std::map<RowKey, RowBytes> rows_;
};

class DiskRows final : public RowTable {
 public:
  explicit DiskRows(LmdbStore& store) : store_(store) {}

  Result<std::optional<RowBytes>> get(const RowKey& key) override {
    auto read = store_.read_rows();
    if (!read) return fail(read.error());
    auto row = (*read)->get(Table::kManifest, key);
    if (!row) return fail(row.error());
    if (!*row) return std::nullopt;
    return RowBytes((*row)->begin(), (*row)->end());
  }

  Result<void> for_each(std::span<const std::byte> prefix, const Visit& visit) override {
    auto read = store_.read_rows();
    if (!read) return fail(read.error());
    return (*read)->for_each(
        Table::kManifest,
        [&](Bytes bytes, Bytes row) {
          if (!begins_with(bytes, prefix)) return false;
          RowKey key{};
          if (bytes.size() != key.size()) return true;
          std::ranges::copy(bytes, key.begin());
          visit(key, row);
          return true;
        },
        prefix);
  }

  Result<void> write(const std::vector<Change>& changes) override {
    std::uint64_t bytes = 0;
    for (const Change& change : changes) bytes += (change.row ? change.row->size() : 0) + kRowOverhead;
    return store_.write_rows(bytes, [&](LmdbEnv::Write& txn) -> Result<void> {
      for (const Change& change : changes) {
        auto done = change.row ? txn.put(Table::kManifest, change.key, *change.row)
                               : txn.erase(Table::kManifest, change.key);
        if (!done) return done;
      }
      return {};
    });
  }

  std::uint64_t generation() const override { return store_.generation(); }

 private:
  LmdbStore& store_;
};

}  // namespace

std::unique_ptr<RowTable> rows_in_memory() {
  return std::make_unique<MemoryRows>();
}

std::unique_ptr<RowTable> rows_on_disk(LmdbStore& store) {
  return std::make_unique<DiskRows>(store);
}

}  // namespace kvboost::cache
