// SPDX-License-Identifier: Apache-2.0
// What goes on in the server. LiveCounts is shared by its connections and calls, any thread; a ServerCounts
// is what it was at one moment. What became of requests is counted in daemon/metrics.h.
#pragma once

#include <atomic>
#include <cstdint>

namespace kvboost::daemon {

struct ServerCounts {
  std::int32_t connections = 0;
  std::int32_t running = 0;  // requests not answered yet, waiting ones included
};

struct LiveCounts {
  std::atomic<std::int32_t> connections = 0;
  std::atomic<std::int32_t> running = 0;

  [[nodiscard]] ServerCounts now() const { return {connections, running}; }
};

}  // namespace kvboost::daemon
