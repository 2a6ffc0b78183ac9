// SPDX-License-Identifier: Apache-2.0
#include "cache/store/manifest.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "base/path_set.h"

namespace kvboost::cache {
namespace {

/// As paths are written in rows: relative, no "./" before and no "/" behind; "" is the root.
std::string pin_of(std::string_view path) {
  while (path.starts_with("./")) path.remove_prefix(2);
  while (path.ends_with('/')) path.remove_suffix(1);
  return path == "." ? std::string() : std::string(path);
}

std::span<const std::byte> id_of(const RowKey& key) {
  return std::span(key).first(sizeof(Digest));
}

}  // namespace

Manifest::Manifest(TieredStore& store)
    : store_(store), rows_(store.disk() == nullptr ? rows_in_memory() : rows_on_disk(*store.disk())) {
  const std::lock_guard lock(mutex_);
  follow_the_file();
}

/// The file of the disk tier may have been begun anew since.
void Manifest::follow_the_file() {
  const std::uint64_t now = rows_->generation();
  if (now == generation_) return;
  generation_ = now;
  rebuild();
}

void Manifest::rebuild() {
  std::map<std::string, State> roots;
  UsesByKey uses;
  std::vector<RowKey> damaged;
  State* state = nullptr;  // of the root whose rows come now: its own row comes first
  RowKey root{};
  const auto read = rows_->for_each({}, [&](const RowKey& key, std::span<const std::byte> row) {
    if (is_root_key(key)) {
      const auto found = decode_root_row(key, row);
      if (found) {
        state = &roots[found->root];
        state->pins = found->pins;
        state->neighbours = found->neighbours;
        root = key;
      } else if (found.error().code == ErrorCode::kCorrupt) {
        damaged.push_back(key);
      }
      return;
    }
    const auto file = decode_file_row(key, row);
    const bool known = state != nullptr && std::ranges::equal(id_of(key), id_of(root));
    if (file && known) {
      ++state->files;
      state->chunks += file->file.chunks.size();
      count(uses, *file, holds(state->pins, file->path), true);
    } else if (file || file.error().code == ErrorCode::kCorrupt) {
      damaged.push_back(key);
    }
  });
  if (!read) log::warn("the cache's manifest cannot be read: {}", read.error().message);
  for (const auto& [key, before] : uses_) {
    if (!uses.contains(key)) tell_store(key, before, {});
  }
  for (const auto& [key, now] : uses) tell_store(key, {}, now);
  std::vector<Digest> unpinned;
  if (store_.disk() != nullptr) {
    store_.disk()->for_each([&](const Digest& key, const EvictionOrder::Entry& entry) {
      const auto found = uses.find(key);
      if (entry.pinned && (found == uses.end() || found->second.pinned == 0)) unpinned.push_back(key);
    });
  }
  for (const Digest& key : unpinned) store_.set_pinned(key, false);
  roots_ = std::move(roots);
  uses_ = std::move(uses);
  drop(damaged);
}

void Manifest::drop(const std::vector<RowKey>& damaged) {
  if (damaged.empty()) return;
  corrupt_ += damaged.size();
  log::warn("{} damaged rows of the cache's manifest were removed", damaged.size());
  std::vector<RowTable::Change> rows;
  for (const RowKey& key : damaged) rows.push_back({key, std::nullopt});
  if (auto written = rows_->write(rows); !written) log::debug("not removed: {}", written.error().message);
}

Result<std::optional<ManifestFile>> Manifest::row_of(const RowKey& key) {
  auto row = rows_->get(key);
  if (!row) return fail(row.error());
  if (!*row) return std::nullopt;
  auto file = decode_file_row(key, **row);
  if (file) return std::move(file->file);
  if (file.error().code == ErrorCode::kCorrupt) return fail(file.error());
  return std::nullopt;
}

Result<std::optional<ManifestFile>> Manifest::find(const std::string& root, const std::string& path) {
  auto found = row_of(file_key(root, path));
  if (found || found.error().code != ErrorCode::kCorrupt) return found;
  const std::lock_guard lock(mutex_);
  rebuild();
  return std::nullopt;
}

Result<std::vector<FileRow>> Manifest::files_of(const std::string& root) {
  std::vector<FileRow> files;
  const RowKey own = root_key(root);
  auto read = rows_->for_each(id_of(own), [&](const RowKey& key, std::span<const std::byte> row) {
    if (is_root_key(key)) return;
    if (auto file = decode_file_row(key, row)) files.push_back(std::move(*file));
  });
  if (!read) return fail(read.error());
  return files;
}

void Manifest::count(UsesByKey& uses, const FileRow& file, bool pinned, bool add) {
  for (const ManifestChunk& chunk : file.file.chunks) {
    Uses& of_key = uses[chunk.prefix];
    if (add) {
      ++of_key.files;
      of_key.pinned += pinned ? 1 : 0;
    } else {
      of_key.files -= std::min(of_key.files, 1U);
      of_key.pinned -= std::min(of_key.pinned, pinned ? 1U : 0U);
    }
  }
}

void Manifest::tell_store(const Digest& key, const Uses& before, const Uses& after) {
  if (before.files == 0 && after.files > 0) store_.set_referenced(key, true);
  if (before.files > 0 && after.files == 0) store_.set_referenced(key, false);
  if (before.pinned == 0 && after.pinned > 0) store_.set_pinned(key, true);
  if (before.pinned > 0 && after.pinned == 0) store_.set_pinned(key, false);
}

Manifest::Uses Manifest::uses_of(const Digest& key) const {
  const auto found = uses_.find(key);
  return found == uses_.end() ? Uses{} : found->second;
}

Result<void> Manifest::change(const std::string& root, const std::vector<FileRow>& gone,
                              const std::vector<FileRow>& come, const std::set<std::string>& pins,
                              const std::vector<RowTable::Change>& rows) {
  State after = roots_[root];
  UsesByKey uses;
  for (const auto* files : {&gone, &come}) {
    for (const FileRow& file : *files) {
      for (const ManifestChunk& chunk : file.file.chunks) uses[chunk.prefix] = uses_of(chunk.prefix);
    }
  }
  for (const FileRow& file : gone) {
    count(uses, file, holds(after.pins, file.path), false);
    after.files -= std::min<std::uint64_t>(after.files, 1);
    after.chunks -= std::min<std::uint64_t>(after.chunks, file.file.chunks.size());
  }
  after.pins = pins;
  for (const FileRow& file : come) {
    count(uses, file, holds(after.pins, file.path), true);
    ++after.files;
    after.chunks += file.file.chunks.size();
  }
  for (const auto& [key, now] : uses) tell_store(key, uses_of(key), now);
  if (auto written = rows_->write(rows); !written) {
    for (const auto& [key, now] : uses) tell_store(key, now, uses_of(key));
    return written;
  }
  for (const auto& [key, now] : uses) {
    if (now.files > 0) {
      uses_[key] = now;
    } else {
      uses_.erase(key);
    }
  }
  roots_[root] = std::move(after);
  return {};
}

Result<void> Manifest::put(const std::string& root, const std::string& path, const ManifestFile& file) {
  const std::lock_guard lock(mutex_);
  follow_the_file();
  const RowKey key = file_key(root, path);
  auto old = row_of(key);
  if (!old && old.error().code == ErrorCode::kCorrupt) {
    rebuild();
    old = std::nullopt;
  }
  if (!old) return fail(old.error());
  if (*old == file) return {};
  std::vector<FileRow> gone;
  if (*old) gone.push_back({path, std::move(**old)});
  const FileRow come{path, file};
  const std::set<std::string> pins = roots_[root].pins;
  return change(root, gone, {come}, pins, {root_row(root, pins), {key, encode_row(come)}});
}

Result<void> Manifest::keep_only(const std::string& root, const std::set<std::string>& paths) {
  const std::lock_guard lock(mutex_);
  follow_the_file();
  auto gone = files_of(root);
  if (!gone) return fail(gone.error());
  std::erase_if(*gone, [&](const FileRow& file) { return paths.contains(file.path); });
  if (gone->empty()) return {};
  std::vector<RowTable::Change> rows;
  for (const FileRow& file : *gone) rows.push_back({file_key(root, file.path), std::nullopt});
  const std::set<std::string> pins = roots_[root].pins;
  return change(root, *gone, {}, pins, rows);
}

Result<void> Manifest::forget(const std::string& root) {
  const std::lock_guard lock(mutex_);
  follow_the_file();
  auto gone = files_of(root);
  if (!gone) return fail(gone.error());
  std::vector<RowTable::Change> rows{{root_key(root), std::nullopt}};
  for (const FileRow& file : *gone) rows.push_back({file_key(root, file.path), std::nullopt});
  if (auto changed = change(root, *gone, {}, {}, rows); !changed) return changed;
  roots_.erase(root);
  return {};
}

std::vector<Manifest::Root> Manifest::roots() {
  const std::lock_guard lock(mutex_);
  follow_the_file();
  std::vector<Root> roots;
  for (const auto& [root, state] : roots_) roots.push_back({root, state.files, state.chunks});
  return roots;
}

Result<void> Manifest::for_each(const std::string& root,
                                const std::function<void(const std::string&, const ManifestFile&)>& visit) {
  const auto files = files_of(root);
  if (!files) return fail(files.error());
  for (const FileRow& file : *files) visit(file.path, file.file);
  return {};
}

Result<void> Manifest::set_pins(const std::string& root, const std::set<std::string>& pins) {
  const std::set<std::string> before = roots_[root].pins;
  auto files = files_of(root);
  if (!files) return fail(files.error());
  std::erase_if(*files,
                [&](const FileRow& file) { return holds(before, file.path) == holds(pins, file.path); });
  return change(root, *files, *files, pins, {root_row(root, pins)});
}

RowTable::Change Manifest::root_row(const std::string& root, const std::set<std::string>& pins) {
  return {root_key(root), encode_row(RootRow{root, pins, roots_[root].neighbours})};
}

Result<void> Manifest::set_neighbours(const std::string& root, std::vector<Neighbour> neighbours) {
  const std::lock_guard lock(mutex_);
  follow_the_file();
  State& state = roots_[root];
  state.neighbours.swap(neighbours);
  const std::vector<RowTable::Change> rows{root_row(root, state.pins)};
  auto written = rows_->write(rows);
  if (!written) state.neighbours.swap(neighbours);
  return written;
}

std::vector<Neighbour> Manifest::neighbours(const std::string& root) {
  const std::lock_guard lock(mutex_);
  follow_the_file();
  const auto found = roots_.find(root);
  return found == roots_.end() ? std::vector<Neighbour>{} : found->second.neighbours;
}

Result<void> Manifest::pin(const std::string& root, std::string_view path) {
  const std::lock_guard lock(mutex_);
  follow_the_file();
  std::set<std::string> pins = roots_[root].pins;
  if (!pins.insert(pin_of(path)).second) return {};
  return set_pins(root, pins);
}

Result<void> Manifest::unpin(const std::string& root, std::string_view path) {
  const std::lock_guard lock(mutex_);
  follow_the_file();
  const auto found = roots_.find(root);
  std::set<std::string> pins = found == roots_.end() ? std::set<std::string>{} : found->second.pins;
  if (pins.erase(pin_of(path)) == 0) {
    return fail(ErrorCode::kNotFound, "'" + std::string(path) + "' is not pinned");
  }
  return set_pins(root, pins);
}

std::set<std::string> Manifest::pins(const std::string& root) {
  const std::lock_guard lock(mutex_);
  follow_the_file();
  const auto found = roots_.find(root);
  return found == roots_.end() ? std::set<std::string>{} : found->second.pins;
}

std::uint64_t Manifest::corrupt() {
  const std::lock_guard lock(mutex_);
  return corrupt_;
}

}  // namespace kvboost::cache
