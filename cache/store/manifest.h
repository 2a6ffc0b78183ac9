// SPDX-License-Identifier: Apache-2.0
// Manifest: which chunks the files of a root (a work tree) are made of, by what keys their blocks are found,
// and which files are pinned. Kept in the disk tier's file (manifest_row.h has the grammar), in memory where
// there is none. It tells the store which records are referenced and which are pinned, whether these came
// before their row or come after it. A row without its blocks, or blocks without a row, are no fault: the
// first is a miss, the second is forgotten as it ages. One mutex for writers; any thread, but none that holds
// a RecordRef, since a write may have to wait for it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/digest.h"
#include "base/error.h"
#include "cache/store/manifest_row.h"
#include "cache/store/row_table.h"
#include "cache/store/tiered_store.h"

namespace kvboost::cache {

class Manifest {
 public:
  /// `store` must outlive it. Rows that are damaged are dropped and counted.
  explicit Manifest(TieredStore& store);

  [[nodiscard]] Result<std::optional<ManifestFile>> find(const std::string& root, const std::string& path);
  /// Adds the file or replaces what was known of it.
  [[nodiscard]] Result<void> put(const std::string& root, const std::string& path, const ManifestFile& file);
  /// Forgets the root's files that are not among `paths`. Pins stay.
  [[nodiscard]] Result<void> keep_only(const std::string& root, const std::set<std::string>& paths);
  /// Forgets the root, its files and its pins.
  [[nodiscard]] Result<void> forget(const std::string& root);

  struct Root {
    std::string root;
    std::uint64_t files = 0;
    std::uint64_t chunks = 0;
  };
  [[nodiscard]] std::vector<Root> roots();
  /// `visit` may call the manifest.
  [[nodiscard]] Result<void> for_each(
      const std::string& root,
      const std::function<void(const std::string& path, const ManifestFile& file)>& visit);

  /// A file, a folder, or "" for all: records of what is there, and of what comes later, are never evicted.
  [[nodiscard]] Result<void> pin(const std::string& root, std::string_view path);
  /// kNotFound when just this was not pinned.
  [[nodiscard]] Result<void> unpin(const std::string& root, std::string_view path);
  [[nodiscard]] std::set<std::string> pins(const std::string& root);

  /// What the root's blocks are computed behind, as it was when it was chosen. Kept until the root is
  /// forgotten.
  [[nodiscard]] Result<void> set_neighbours(const std::string& root, std::vector<Neighbour> neighbours);
  [[nodiscard]] std::vector<Neighbour> neighbours(const std::string& root);

  /// Damaged rows that were dropped.
  [[nodiscard]] std::uint64_t corrupt();

 private:
  struct State {
    std::uint64_t files = 0;
    std::uint64_t chunks = 0;
    std::set<std::string> pins;
    std::vector<Neighbour> neighbours;
  };
  struct Uses {
    std::uint32_t files = 0;   // rows that name the key
    std::uint32_t pinned = 0;  // those of them that are pinned
    bool operator==(const Uses&) const = default;
  };
  using UsesByKey = std::unordered_map<Digest, Uses, DigestHash>;

  void follow_the_file();
  void rebuild();
  void drop(const std::vector<RowKey>& damaged);
  /// kCorrupt for a damaged row; one of another version is absent.
  [[nodiscard]] Result<std::optional<ManifestFile>> row_of(const RowKey& key);
  [[nodiscard]] Result<std::vector<FileRow>> files_of(const std::string& root);
  /// Adds or takes away what `file` names, as far as `uses` is to have it.
  static void count(UsesByKey& uses, const FileRow& file, bool pinned, bool add);
  void tell_store(const Digest& key, const Uses& before, const Uses& after);
  [[nodiscard]] Uses uses_of(const Digest& key) const;
  /// One step in rows, counts and marks: the root's `gone` files go, `come` come, and its pins are `pins`.
  [[nodiscard]] Result<void> change(const std::string& root, const std::vector<FileRow>& gone,
                                    const std::vector<FileRow>& come, const std::set<std::string>& pins,
                                    const std::vector<RowTable::Change>& rows);
  /// The root's row, with these pins.
  [[nodiscard]] RowTable::Change root_row(const std::string& root, const std::set<std::string>& pins);
  [[nodiscard]] Result<void> set_pins(const std::string& root, const std::set<std::string>& pins);

  TieredStore& store_;
  std::mutex mutex_;  // all below
  std::unique_ptr<RowTable> rows_;
  std::uint64_t generation_ = 0;
  std::map<std::string, State> roots_;
  UsesByKey uses_;
  std::uint64_t corrupt_ = 0;
};

}  // namespace kvboost::cache
