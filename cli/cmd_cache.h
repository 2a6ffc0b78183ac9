// SPDX-License-Identifier: Apache-2.0
// `kvboost cache …`: what the cache holds, and taking things out of it.
#pragma once

#include <string>
#include <vector>

#include "cli/session.h"
#include "daemon/protocol/methods.h"

namespace kvboost::cli {

struct CacheArguments {
  std::string path;                // inspect, pin, unpin
  std::vector<std::string> paths;  // evict
  std::string older_than;          // evict: "30d"
  std::string model;               // evict: beginning of a fingerprint
  bool stale = false;              // evict
  bool dry_run = false;            // evict, clear
  bool yes = false;                // clear: do not ask
  bool json = false;
};

[[nodiscard]] int show_cache(Session& session, const CacheArguments& arguments);
[[nodiscard]] int inspect_cache(Session& session, const CacheArguments& arguments);
[[nodiscard]] int evict_cache(Session& session, const CacheArguments& arguments);
[[nodiscard]] int clear_cache(Session& session, const CacheArguments& arguments);
[[nodiscard]] int verify_cache(Session& session, const CacheArguments& arguments);
[[nodiscard]] int pin_in_cache(Session& session, const CacheArguments& arguments);
[[nodiscard]] int unpin_in_cache(Session& session, const CacheArguments& arguments);

[[nodiscard]] std::string cache_text(const protocol::CacheStatsResult& stats, const Terminal& terminal);
[[nodiscard]] std::string chunks_text(const protocol::CacheInspectResult& file, const Terminal& terminal);

/// "88.0 MB of 768.0 MB (within max_memory), 8 records, 40 hits, 90 misses, 0 evictions", and what is amiss.
[[nodiscard]] std::string tier_text(const protocol::CacheTier& tier);
[[nodiscard]] std::string reuse_text(const protocol::ReuseCount& reuse);

}  // namespace kvboost::cli
