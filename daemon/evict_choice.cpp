// SPDX-License-Identifier: Apache-2.0
#include "daemon/evict_choice.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

#include "base/path_set.h"
#include "daemon/prompt/named_paths.h"

namespace kvboost::daemon {
namespace {

using cache::ManifestChunk;
using cache::ManifestFile;
using protocol::CacheEvictParams;

Result<std::string> beginning_of_fingerprint(std::string text, BlockCache& blocks) {
  std::ranges::transform(text, text.begin(),
                         [](char c) { return c >= 'A' && c <= 'F' ? c + ('a' - 'A') : c; });
  bool found = false;
  blocks.store().for_each([&](const Digest&, const cache::TieredStore::Item& item) {
    found = found || item.entry.model.hex().starts_with(text);
  });
  if (found) return text;
  return fail(ErrorCode::kNotFound,
              "nothing is stored of a model whose fingerprint begins with '" + text + "'",
              "`kvboost cache stats` shows the fingerprints");
}

}  // namespace

Result<EvictChoice> EvictChoice::of(const CacheEvictParams& params, Repositories& repositories,
                                    BlockCache& blocks, cache::Manifest& manifest) {
  if (params.older_than_s <= 0 && params.model.empty() && !params.stale && params.paths.empty()) {
    return fail(ErrorCode::kInvalidArgument, "nothing says which records to remove",
                "give at least one of older_than_s, model, stale and paths");
  }
  EvictChoice choice(manifest);
  if (params.older_than_s > 0) {
    // Long before there was a clock is just as well.
    const double seconds = std::min(params.older_than_s, 1e9);
    choice.used_before_ = cache::unix_nanoseconds() - static_cast<std::int64_t>(seconds * 1e9);
  }
  if (!params.model.empty()) {
    auto model = beginning_of_fingerprint(params.model, blocks);
    if (!model) return fail(model.error());
    choice.model_ = std::move(*model);
  }
  if (params.stale) {
    if (auto found = choice.find_stale(); !found) return fail(found.error());
  }
  if (!params.paths.empty()) {
    if (auto found = choice.find_of_paths(params, repositories, blocks); !found) return fail(found.error());
  }
  return choice;
}

Result<void> EvictChoice::find_stale() {
  stale_ = true;
  Keys there;
  for (const cache::Manifest::Root& root : manifest_->roots()) {
    std::error_code error;
    const bool gone = !std::filesystem::exists(root.root, error) && !error;
    if (gone) gone_roots_.push_back(root.root);
    Keys& keys = gone ? only_gone_ : there;
    auto read = manifest_->for_each(root.root, [&](const std::string&, const ManifestFile& file) {
      for (const ManifestChunk& chunk : file.chunks) keys.insert(chunk.prefix);
    });
    if (!read) return read;
  }
  std::erase_if(only_gone_, [&](const Digest& key) { return there.contains(key); });
  return {};
}

Result<void> EvictChoice::find_of_paths(const CacheEvictParams& params, Repositories& repositories,
                                        BlockCache& blocks) {
  if (params.directory.empty()) {
    return fail(ErrorCode::kInvalidArgument, "field 'paths' needs field 'directory'");
  }
  const auto repository = repositories.open(params.directory);
  if (!repository) return fail(repository.error());
  std::set<std::string> folders;
  for (const std::string& given : params.paths) {
    auto path = path_in_root((*repository)->root(), given, params.directory);
    if (!path) return fail(path.error());
    folders.insert(std::move(*path));
  }
  Keys& keys = of_paths_.emplace();
  std::optional<Error> failed;
  auto read = manifest_->for_each((*repository)->root().string(),
                                  [&](const std::string& path, const ManifestFile& file) {
                                    if (!holds(folders, path)) return;
                                    for (const ManifestChunk& chunk : file.chunks) {
                                      keys.insert(chunk.prefix);
                                      auto others = blocks.store().prefixes_of(chunk.content);
                                      if (others) keys.insert(others->begin(), others->end());
                                      if (!others) failed = std::move(others.error());
                                    }
                                  });
  if (failed) return fail(std::move(*failed));
  return read;
}

bool EvictChoice::takes(const Digest& prefix, const cache::EvictionOrder::Entry& entry) const {
  if (entry.pinned) return false;
  if (used_before_ != 0 && entry.last_use >= used_before_) return false;
  if (!model_.empty() && !entry.model.hex().starts_with(model_)) return false;
  if (stale_ && entry.referenced && !only_gone_.contains(prefix)) return false;
  return !of_paths_ || of_paths_->contains(prefix);
}

Result<void> EvictChoice::forget_gone_roots() {
  for (const std::string& root : gone_roots_) {
    if (auto forgotten = forget_files(*manifest_, root); !forgotten) return forgotten;
  }
  return {};
}

Result<void> forget_files(cache::Manifest& manifest, const std::string& root) {
  if (manifest.pins(root).empty()) return manifest.forget(root);
  if (auto kept = manifest.keep_only(root, {}); !kept) return kept;
  return manifest.set_neighbours(root, {});
}

}  // namespace kvboost::daemon
