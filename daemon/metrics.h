// SPDX-License-Identifier: Apache-2.0
// Metrics: counters of the running daemon, for `status`. Any thread.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/error.h"

namespace kvboost::daemon {

struct Metrics {
  std::atomic<std::int64_t> requests{0};
  std::atomic<std::int64_t> prompt_tokens{0};
  std::atomic<std::int64_t> reused_tokens{0};
  std::atomic<std::int64_t> cancelled{0};
  std::atomic<std::int64_t> failed{0};

  void count(const Error& error) { ++(error.code == ErrorCode::kCancelled ? cancelled : failed); }
};

}  // namespace kvboost::daemon
