// SPDX-License-Identifier: Apache-2.0
// Old variants: each time that an edit or a branch changes what stands before a chunk, idle time computes its
// block once more. The blocks behind the former texts are of use when these come back, the latest most of
// all; the others can be made again. Called on the warmer's thread.
#pragma once

#include <unordered_set>

#include "base/digest.h"
#include "cache/store/tiered_store.h"

namespace kvboost::daemon {

using ContentKeys = std::unordered_set<Digest, DigestHash>;

/// Removes the blocks of these contents that no file has now and that are not pinned, all but the one of each
/// that was used last.
void drop_old_variants(cache::TieredStore& store, const ContentKeys& contents);

}  // namespace kvboost::daemon
