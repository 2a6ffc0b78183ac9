// SPDX-License-Identifier: Apache-2.0
// A listening socket that the daemon did not make: systemd (or whoever else starts it) listens in its place,
// starts it at the first connection, and hands the socket over as descriptor 3, told by the variables
// LISTEN_PID and LISTEN_FDS (sd_listen_fds(3)). In main, before any thread.
#pragma once

#include <filesystem>
#include <optional>

#include "base/error.h"
#include "base/file_descriptor.h"

namespace kvboost::daemon {

/// Whether this process was started so.
[[nodiscard]] bool is_socket_handed();

/// The socket; nothing if none was handed over. kInvalidArgument: it is not one that listens at `socket`,
/// where clients look, or there are several.
[[nodiscard]] Result<std::optional<FileDescriptor>> take_handed_socket(const std::filesystem::path& socket);

}  // namespace kvboost::daemon
