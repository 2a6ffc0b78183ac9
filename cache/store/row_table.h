// SPDX-License-Identifier: Apache-2.0
// RowTable: where the manifest's rows are kept: table manifest of the disk tier, or memory where there is
// none. Any thread.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/error.h"
#include "cache/store/lmdb_store.h"
#include "cache/store/manifest_row.h"

namespace kvboost::cache {

class RowTable {
 public:
  /// A row to be put, or to be erased.
  struct Change {
    RowKey key;
    std::optional<RowBytes> row;
  };
  using Visit = std::function<void(const RowKey& key, std::span<const std::byte> row)>;

  virtual ~RowTable() = default;

  [[nodiscard]] virtual Result<std::optional<RowBytes>> get(const RowKey& key) = 0;
  /// Rows whose key begins with `prefix` (a whole key, a root's id, or nothing), in order.
  [[nodiscard]] virtual Result<void> for_each(std::span<const std::byte> prefix, const Visit& visit) = 0;
  /// All or none.
  [[nodiscard]] virtual Result<void> write(const std::vector<Change>& changes) = 0;
  /// Rises when rows may be gone that nobody erased.
  [[nodiscard]] virtual std::uint64_t generation() const = 0;
};

[[nodiscard]] std::unique_ptr<RowTable> rows_in_memory();
/// `store` must outlive it.
[[nodiscard]] std::unique_ptr<RowTable> rows_on_disk(LmdbStore& store);

}  // namespace kvboost::cache
