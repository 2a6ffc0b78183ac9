// SPDX-License-Identifier: Apache-2.0
#include "base/unix_socket.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>
#include <string>

namespace kvboost {
namespace {

namespace fs = std::filesystem;

constexpr int kBacklog = 128;
constexpr timeval kConnectPatience{.tv_sec = 5, .tv_usec = 0};

/// An address of a path; keeps the directory open that a long one goes through.
struct Address {
  sockaddr_un name{};
  FileDescriptor directory;

  [[nodiscard]] const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&name); }
};

Result<Address> address_of(const fs::path& socket) {
  Address address;
  address.name.sun_family = AF_UNIX;
  std::string path = socket.string();
  if (path.size() >= sizeof address.name.sun_path) {
    const fs::path parent = socket.parent_path();
    address.directory = FileDescriptor(::open(parent.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!address.directory.is_open()) return fail_errno("cannot open " + parent.string(), errno);
    path = "/proc/self/fd/" + std::to_string(address.directory.get()) + "/" + socket.filename().string();
    if (path.size() >= sizeof address.name.sun_path) {
      return fail(ErrorCode::kInvalidArgument,
                  "the socket's file name is too long: " + socket.filename().string(),
                  "choose a shorter one with the option socket");
    }
  }
  std::memcpy(address.name.sun_path, path.c_str(), path.size() + 1);
  return address;
}

Result<FileDescriptor> new_socket() {
  FileDescriptor fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd.is_open()) return fail_errno("cannot make a socket", errno);
  return fd;
}

}  // namespace

Result<FileDescriptor> listen_unix(const fs::path& socket) {
  const auto address = address_of(socket);
  if (!address) return fail(address.error());
  auto fd = new_socket();
  if (!fd) return fd;
  // The mode of the file to come, set before it exists: no moment at which others could connect.
  if (::fchmod(fd->get(), 0600) != 0) return fail_errno("cannot close the socket to others", errno);
  if (::bind(fd->get(), address->get(), sizeof address->name) != 0) {
    if (errno == EADDRINUSE) return fail(ErrorCode::kBusy, socket.string() + " is there already");
    return fail_errno("cannot make the socket " + socket.string(), errno);
  }
  if (::listen(fd->get(), kBacklog) != 0) return fail_errno("cannot listen on " + socket.string(), errno);
  return fd;
}

Result<FileDescriptor> connect_unix(const fs::path& socket) {
  const auto address = address_of(socket);
  if (!address) return fail(address.error());
  auto fd = new_socket();
  if (!fd) return fd;
  // A listener that is stopped and whose queue is full would make us wait for ever.
  constexpr timeval kForEver{};
  ::setsockopt(fd->get(), SOL_SOCKET, SO_SNDTIMEO, &kConnectPatience, sizeof kConnectPatience);
  int done = 0;
  do {
    done = ::connect(fd->get(), address->get(), sizeof address->name);
  } while (done != 0 && errno == EINTR);
  if (done != 0) {
    const int error = errno;
    if (error == EAGAIN) {
      return fail(ErrorCode::kBusy, "what listens on " + socket.string() + " takes no more connections");
    }
    const bool absent = error == ENOENT || error == ECONNREFUSED || error == ENOTDIR;
    return fail(absent ? ErrorCode::kNotFound : ErrorCode::kIo,
                "cannot connect to " + socket.string() + ": " + std::strerror(error));
  }
  ::setsockopt(fd->get(), SOL_SOCKET, SO_SNDTIMEO, &kForEver, sizeof kForEver);
  const auto owner = peer_uid(fd->get());
  if (!owner) return fail(owner.error());
  if (*owner != ::geteuid()) {
    return fail(
        ErrorCode::kInvalidArgument,
        "what listens on " + socket.string() + " runs as user " + std::to_string(*owner) + ", not as you",
        "nothing was sent; choose another place with the option socket");
  }
  return fd;
}

Result<uid_t> peer_uid(int fd) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) {
    return fail_errno("cannot tell who is on the other side of the socket", errno);
  }
  return peer.uid;
}

}  // namespace kvboost
