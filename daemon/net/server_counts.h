// SPDX-License-Identifier: Apache-2.0
// What the server counts, for `status`. LiveCounts is shared by its connections and calls, any thread; a
// ServerCounts is what it was at one moment.
#pragma once

#include <atomic>
#include <cstdint>

namespace kvboost::daemon {

struct ServerCounts {
  std::int32_t connections = 0;
  std::int32_t running = 0;    // requests not answered yet, waiting ones included
  std::int64_t requests = 0;   // since the start
  std::int64_t cancelled = 0;  // answered so
  std::int64_t failed = 0;     // answered with another error
};

struct LiveCounts {
  std::atomic<std::int32_t> connections = 0;
  std::atomic<std::int32_t> running = 0;
  std::atomic<std::int64_t> requests = 0;
  std::atomic<std::int64_t> cancelled = 0;
  std::atomic<std::int64_t> failed = 0;

  [[nodiscard]] ServerCounts now() const { return {connections, running, requests, cancelled, failed}; }
};

}  // namespace kvboost::daemon
