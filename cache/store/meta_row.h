// SPDX-License-Identifier: Apache-2.0
// Meta rows: what the disk tier remembers of a record beside it, as a value of table meta (lmdb_store.h has
// the grammar). Pure functions, any thread.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

#include "base/digest.h"
#include "cache/store/eviction_order.h"
#include "cache/store/lmdb_env.h"

namespace kvboost::cache {

[[nodiscard]] inline Bytes bytes_of(const Digest& digest) {
  return std::as_bytes(std::span(digest.bytes));
}

/// The value as it lies on disk.
struct MetaRow {
  std::uint64_t bytes = 0;
  double credit = 0;
  float importance = 0;
  float rebuild_ms = 0;
  std::int64_t last_use = 0;
  Digest model;
  std::uint8_t referenced = 1;
  std::uint8_t pinned = 0;
  std::array<std::uint8_t, 6> zero{};
};
static_assert(sizeof(MetaRow) == 72 && std::is_trivially_copyable_v<MetaRow>);

[[nodiscard]] inline MetaRow meta_row_of(const EvictionOrder::Entry& entry) {
  MetaRow row;
  row.bytes = entry.bytes;
  row.credit = entry.credit;
  row.importance = entry.importance;
  row.rebuild_ms = entry.rebuild_ms;
  row.last_use = entry.last_use;
  row.model = entry.model;
  row.referenced = entry.referenced ? 1 : 0;
  row.pinned = entry.pinned ? 1 : 0;
  return row;
}

/// What `row` tells of a record that has `bytes`: hints, none of them needed.
[[nodiscard]] inline EvictionOrder::Entry entry_of(std::uint64_t bytes, const std::optional<Bytes>& row) {
  MetaRow meta;
  if (row && row->size() == sizeof meta) std::memcpy(&meta, row->data(), sizeof meta);
  return {.bytes = bytes,
          .importance = meta.importance,
          .rebuild_ms = meta.rebuild_ms,
          .referenced = meta.referenced != 0,
          .pinned = meta.pinned != 0,
          .credit = meta.credit,
          .model = meta.model,
          .last_use = meta.last_use};
}

[[nodiscard]] inline Result<void> put_entry(LmdbEnv::Write& txn, const Digest& key,
                                            const EvictionOrder::Entry& entry) {
  const MetaRow row = meta_row_of(entry);
  return txn.put(Table::kMeta, bytes_of(key), std::as_bytes(std::span(&row, 1)));
}

}  // namespace kvboost::cache
