// SPDX-License-Identifier: Apache-2.0
// What LMDB's codes mean for the cache's file. A pure function, any thread.
#pragma once

#include "base/error.h"

namespace kvboost::cache {

/// kBusy: no room in the map; kCorrupt: damage; kIo: what the system refused.
[[nodiscard]] Error error_of(const char* what, int code);

}  // namespace kvboost::cache
