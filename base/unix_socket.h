// SPDX-License-Identifier: Apache-2.0
// Unix stream sockets by path, of any length that the file system allows (sun_path holds 107 bytes: longer
// ones go through /proc/self/fd). Both sides make sure that the other one is the same user. Any thread.
#pragma once

#include <filesystem>

#include "base/error.h"
#include "base/file_descriptor.h"

namespace kvboost {

/// Binds and listens; the socket file is 0600 whatever the umask. The path must be free: kBusy otherwise.
[[nodiscard]] Result<FileDescriptor> listen_unix(const std::filesystem::path& socket);

/// Connects. kNotFound if nobody listens there (no file, or a stale one); kInvalidArgument if what listens
/// runs as another user.
[[nodiscard]] Result<FileDescriptor> connect_unix(const std::filesystem::path& socket);

/// The user on the other side, as the kernel noted it.
[[nodiscard]] Result<uid_t> peer_uid(int fd);

}  // namespace kvboost
