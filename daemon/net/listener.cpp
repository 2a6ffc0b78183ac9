// SPDX-License-Identifier: Apache-2.0
#include "daemon/net/listener.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "base/log.h"
#include "base/unix_socket.h"
#include "daemon/net/handed_socket.h"

namespace kvboost::daemon {
namespace {

namespace fs = std::filesystem;

Result<LockFile> take_lock(const DaemonFiles& files, std::string_view build) {
  const std::string note = "pid " + std::to_string(::getpid()) + ", build " + std::string(build);
  auto lock = LockFile::acquire(files.lock, note);
  if (!lock && lock.error().code == ErrorCode::kBusy) {
    return fail(ErrorCode::kBusy, "another daemon serves: " + lock.error().message);
  }
  return lock;
}

/// What stands where the socket is to be: nothing, or a stale one, which goes.
Result<void> clear_place(const fs::path& socket) {
  struct stat status {};
  if (::lstat(socket.c_str(), &status) != 0) {
    if (errno == ENOENT) return {};
    return fail_errno("cannot look at " + socket.string(), errno);
  }
  if (!S_ISSOCK(status.st_mode)) {
    return fail(ErrorCode::kInvalidArgument, socket.string() + " is there and is no socket",
                "move it away, or choose another place with the option socket");
  }
  if (status.st_uid != ::geteuid()) {
    return fail(ErrorCode::kInvalidArgument,
                "the socket " + socket.string() + " belongs to user " + std::to_string(status.st_uid),
                "have it removed, or choose another place with the option socket");
  }
  const auto answer = connect_unix(socket);
  if (answer || answer.error().code == ErrorCode::kBusy) {
    return fail(ErrorCode::kBusy,
                "another daemon answers on " + socket.string() + " without holding the lock",
                "end it first: was its lock file removed?");
  }
  if (::unlink(socket.c_str()) != 0 && errno != ENOENT) {
    return fail_errno("cannot remove the stale socket " + socket.string(), errno);
  }
  log::info("removed a stale socket, {}", socket.string());
  return {};
}

}  // namespace

Result<Listener> Listener::open(const DaemonFiles& files, std::string_view build) {
  auto lock = take_lock(files, build);
  if (!lock) return fail(lock.error());
  auto handed = take_handed_socket(files.socket);
  if (!handed) return fail(handed.error());
  if (*handed) return Listener(std::move(*lock), std::move(**handed));  // its file is not ours to remove
  if (auto clear = clear_place(files.socket); !clear) return fail(clear.error());
  auto fd = listen_unix(files.socket);
  if (!fd) return fail(fd.error());
  Listener listener(std::move(*lock), std::move(*fd));
  struct stat status {};
  if (::lstat(files.socket.c_str(), &status) != 0) {
    return fail_errno("cannot look at " + files.socket.string(), errno);
  }
  listener.socket_ = files.socket;
  listener.device_ = status.st_dev;
  listener.inode_ = status.st_ino;
  return listener;
}

void Listener::remove_socket() {
  if (socket_.empty()) return;
  // Only our own file: somebody may have put another one there.
  struct stat status {};
  if (::lstat(socket_.c_str(), &status) == 0 && status.st_dev == device_ && status.st_ino == inode_) {
    ::unlink(socket_.c_str());
  }
  socket_.clear();
}

}  // namespace kvboost::daemon
