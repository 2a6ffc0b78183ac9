// SPDX-License-Identifier: Apache-2.0
// CacheHandler: the methods `cache/…`: what the store holds, told in the protocol's words, and taking from
// it. Its work is done on workers, at the lowest priority. Any thread may call it.
#pragma once

#include <stop_token>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/digest.h"
#include "base/error.h"
#include "cache/store/manifest.h"
#include "daemon/net/binder.h"
#include "daemon/pipeline/block_cache.h"
#include "daemon/pipeline/model_host.h"
#include "daemon/pipeline/scheduler.h"
#include "daemon/prompt/repositories.h"
#include "daemon/protocol/methods.h"

namespace kvboost::daemon {

/// What `status` and `cache/stats` tell of the tiers: one that could not be opened is among them.
[[nodiscard]] std::vector<protocol::CacheTier> tiers_of(const BlockCache& blocks);
[[nodiscard]] protocol::ReuseCount reuse_of(const BlockCache& blocks);

/// For `doctor`.
[[nodiscard]] protocol::DoctorCheck check_cache(const BlockCache& blocks);

class CacheHandler {
 public:
  struct Parts {
    Scheduler& workers;
    ModelHost& models;
    Repositories& repositories;
    BlockCache& blocks;
    cache::Manifest& manifest;
  };
  /// Everything in `parts` must outlive the requests.
  explicit CacheHandler(const Parts& parts) : parts_(parts) {}

  void bind(Binder& binder);

 private:
  using Items = std::unordered_map<Digest, cache::TieredStore::Item, DigestHash>;

  /// Binds a method whose work is `run`.
  template <class Params, class Value>
  void add(Binder& binder, const char* method,
           Result<Value> (CacheHandler::*run)(const RequestContext&, const Params&));

  [[nodiscard]] Result<protocol::CacheStatsResult> stats(const RequestContext& context,
                                                         const protocol::Nothing& params);
  [[nodiscard]] Result<protocol::CacheInspectResult> inspect(const RequestContext& context,
                                                             const protocol::CacheInspectParams& params);
  [[nodiscard]] Result<protocol::CacheEvictResult> evict(const RequestContext& context,
                                                         const protocol::CacheEvictParams& params);
  [[nodiscard]] Result<protocol::CacheEvictResult> clear(const RequestContext& context,
                                                         const protocol::CacheClearParams& params);
  [[nodiscard]] Result<protocol::CacheVerifyResult> verify(const RequestContext& context,
                                                           const protocol::Nothing& params);
  [[nodiscard]] Result<protocol::CachePinResult> pin(const RequestContext& context,
                                                     const protocol::CachePinParams& params);

  [[nodiscard]] Items items() const;
  [[nodiscard]] protocol::CacheChunk chunk_of(const cache::ManifestChunk& chunk, const Items& items) const;

  Parts parts_;
};

}  // namespace kvboost::daemon
