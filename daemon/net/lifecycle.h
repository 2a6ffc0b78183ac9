// SPDX-License-Identifier: Apache-2.0
// The methods about the daemon itself: `initialize` (version and build handshake) and `shutdown`. A client of
// another build makes this daemon drain and leave; the client then starts its own. Called once, before the
// server runs.
#pragma once

#include <map>
#include <string>

#include "daemon/net/binder.h"
#include "daemon/net/server.h"

namespace kvboost::daemon {

struct DaemonIdentity {
  std::string version;                         // "0.1.0"
  std::string build;                           // build_id()
  std::map<std::string, std::string> options;  // what the daemon was started with, told to clients
};

/// `server` must outlive the binder's use.
void bind_lifecycle(Binder& binder, Server& server, DaemonIdentity identity);

}  // namespace kvboost::daemon
