// SPDX-License-Identifier: Apache-2.0
// EvictChoice: which records `cache/evict` takes: those that fit each of its conditions. Made for one
// request, on one thread.
#pragma once

#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "base/digest.h"
#include "base/error.h"
#include "cache/store/manifest.h"
#include "daemon/pipeline/block_cache.h"
#include "daemon/prompt/repositories.h"
#include "daemon/protocol/methods.h"

namespace kvboost::daemon {

class EvictChoice {
 public:
  /// kInvalidArgument without a condition, or with one that means nothing; kNotFound: no record is of such a
  /// model. What is borrowed must outlive the choice.
  [[nodiscard]] static Result<EvictChoice> of(const protocol::CacheEvictParams& params,
                                              Repositories& repositories, BlockCache& blocks,
                                              cache::Manifest& manifest);

  /// Pinned records are never taken.
  [[nodiscard]] bool takes(const Digest& prefix, const cache::EvictionOrder::Entry& entry) const;

  /// A work tree that is not there any more refers to nothing: once its records are gone, its files are
  /// forgotten. Nothing unless stale ones were asked for.
  [[nodiscard]] Result<void> forget_gone_roots();

 private:
  using Keys = std::unordered_set<Digest, DigestHash>;

  explicit EvictChoice(cache::Manifest& manifest) : manifest_(&manifest) {}
  [[nodiscard]] Result<void> find_stale();
  [[nodiscard]] Result<void> find_of_paths(const protocol::CacheEvictParams& params,
                                           Repositories& repositories, BlockCache& blocks);

  cache::Manifest* manifest_;
  std::int64_t used_before_ = 0;  // 0: whenever
  std::string model_;             // beginning of a fingerprint
  bool stale_ = false;
  Keys only_gone_;  // referred to by work trees that are gone, and by none that is there
  std::vector<std::string> gone_roots_;
  std::optional<Keys> of_paths_;
};

/// Forgets what is known of the root's files, and the root itself unless it has pins, which stay.
[[nodiscard]] Result<void> forget_files(cache::Manifest& manifest, const std::string& root);

}  // namespace kvboost::daemon
