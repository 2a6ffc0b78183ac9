// SPDX-License-Identifier: Apache-2.0
// Listener: the right to serve. It holds the daemon's lock and the listening socket; only the lock's holder
// makes or removes the socket file, so of twenty daemons that start at once one serves. Made and destroyed in
// main.
#pragma once

#include <sys/types.h>

#include <string_view>

#include "base/daemon_files.h"
#include "base/error.h"
#include "base/file_descriptor.h"
#include "base/lock_file.h"

namespace kvboost::daemon {

class Listener {
 public:
  /// Takes the lock, removes a stale socket, listens; or takes the socket that was handed over. kBusy if
  /// another daemon serves; the message tells which.
  [[nodiscard]] static Result<Listener> open(const DaemonFiles& files, std::string_view build);

  Listener(Listener&&) noexcept = default;
  Listener& operator=(Listener&&) = delete;
  ~Listener() { remove_socket(); }

  /// The listening socket, given away once, to the server.
  [[nodiscard]] FileDescriptor take_fd() { return std::move(fd_); }
  /// So that new clients find nobody, while the lock tells them to wait for it. Done by the destructor too.
  void remove_socket();

 private:
  Listener(LockFile lock, FileDescriptor fd) : lock_(std::move(lock)), fd_(std::move(fd)) {}

  LockFile lock_;
  FileDescriptor fd_;
  std::filesystem::path socket_;  // empty once removed
  dev_t device_ = 0;
  ino_t inode_ = 0;
};

}  // namespace kvboost::daemon
