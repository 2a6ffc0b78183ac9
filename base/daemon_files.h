// SPDX-License-Identifier: Apache-2.0
// Where daemon and clients meet: the socket and its two locks, next to each other. Any thread.
#pragma once

#include <filesystem>

#include "base/error.h"

namespace kvboost {

struct DaemonFiles {
  std::filesystem::path socket;      // kvboostd.sock
  std::filesystem::path lock;        // kvboostd.lock: who holds it serves, and may remove the socket
  std::filesystem::path start_lock;  // kvboostd.start: who holds it starts the daemon, others wait
};

/// kvboostd's exit status where the model of its own command line cannot be used.
inline constexpr int kModelRefused = 4;

/// `socket` is the option's value; empty: in the runtime directory. The directory is made if it is the
/// default, and checked: one that other people could change is refused.
[[nodiscard]] Result<DaemonFiles> daemon_files(const std::filesystem::path& socket);

}  // namespace kvboost
