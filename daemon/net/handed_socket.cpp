// SPDX-License-Identifier: Apache-2.0
#include "daemon/net/handed_socket.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <string_view>

namespace kvboost::daemon {
namespace {

namespace fs = std::filesystem;

constexpr int kFirst = 3;

std::string variable(const char* name) {
  const char* text = std::getenv(name);
  return text == nullptr ? "" : text;
}

int option_of(int fd, int option) {
  int value = -1;
  socklen_t size = sizeof value;
  return ::getsockopt(fd, SOL_SOCKET, option, &value, &size) == 0 ? value : -1;
}

/// Where it listens; empty if it is no Unix stream socket that does.
fs::path place_of(int fd) {
  sockaddr_un name{};
  socklen_t size = sizeof name;
  if (option_of(fd, SO_ACCEPTCONN) != 1 || option_of(fd, SO_TYPE) != SOCK_STREAM) return {};
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&name), &size) != 0 || name.sun_family != AF_UNIX)
    return {};
  const std::size_t header = sizeof name - sizeof name.sun_path;
  if (size <= header) return {};
  const std::string_view path(name.sun_path, size - header);
  return path.substr(0, path.find('\0'));
}

bool is_same_place(const fs::path& a, const fs::path& b) {
  std::error_code error;
  return fs::weakly_canonical(a, error) == fs::weakly_canonical(b, error);
}

}  // namespace

bool is_socket_handed() {
  return variable("LISTEN_PID") == std::to_string(::getpid());
}

Result<std::optional<FileDescriptor>> take_handed_socket(const fs::path& socket) {
  if (!is_socket_handed()) return std::nullopt;
  if (const std::string count = variable("LISTEN_FDS"); count != "1") {
    return fail(ErrorCode::kInvalidArgument, count + " sockets were handed over; it must be one");
  }
  const fs::path place = place_of(kFirst);
  if (place.empty()) {
    return fail(ErrorCode::kInvalidArgument, "what was handed over is no Unix socket that listens");
  }
  if (!is_same_place(place, socket)) {
    return fail(
        ErrorCode::kInvalidArgument,
        "the socket that was handed over is " + place.string() + ", and clients look for " + socket.string(),
        "name the same in the option socket and in the unit kvboostd.socket");
  }
  if (::fcntl(kFirst, F_SETFD, FD_CLOEXEC) != 0)
    return fail_errno("cannot use the socket handed over", errno);
  return FileDescriptor(kFirst);
}

}  // namespace kvboost::daemon
