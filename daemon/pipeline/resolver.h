// SPDX-License-Identifier: Apache-2.0
// resolve: for each part of a plan, its key and the stored block that fits it best. The third arrow of a
// request's way (docs/design.md). Any thread.
#pragma once

#include <vector>

#include "cache/key/chunk_key.h"
#include "daemon/pipeline/block_cache.h"
#include "daemon/prompt/prompt_plan.h"

namespace kvboost::daemon {

struct ResolvedPart {
  cache::ChunkKey key;
  Match match = Match::kMiss;
  Digest source;  // prefix key of the block that fits; of several kApproximate ones, the one that was
                  // computed behind most of what stands before it here, but first of all behind neighbours
  bool near = false;  // the source was computed behind the repository's neighbours
  /// Whether its block is worth keeping once computed: literal text is not, and neither is what stands behind
  /// it, since no other prompt has the same left context.
  bool keep = false;
};

using ResolvedPlan = std::vector<ResolvedPart>;  // one a part

/// `context` as of cache::key_context; `neighbours` as of NeighbourRun::end, zeros where there are none.
[[nodiscard]] ResolvedPlan resolve(const PromptPlan& plan, const Digest& context, const Digest& neighbours,
                                   BlockCache& blocks);

}  // namespace kvboost::daemon
