// SPDX-License-Identifier: Apache-2.0
#include "base/paths.h"

#include <fcntl.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "base/log.h"

namespace kvboost {
namespace {

namespace fs = std::filesystem;

/// The XDG specification: a value that is empty or not absolute is to be ignored.
std::optional<fs::path> absolute_from_environment(const char* variable) {
  const char* text = std::getenv(variable);
  if (text == nullptr) return std::nullopt;
  fs::path path = text;
  if (!path.is_absolute()) return std::nullopt;
  return path;
}

std::optional<fs::path> home_from_password_file() {
  std::vector<char> buffer(16 * 1024);
  passwd entry{};
  passwd* found = nullptr;
  if (getpwuid_r(geteuid(), &entry, buffer.data(), buffer.size(), &found) != 0 || found == nullptr) {
    return std::nullopt;
  }
  fs::path home = found->pw_dir == nullptr ? "" : found->pw_dir;
  if (!home.is_absolute()) return std::nullopt;
  return home;
}

Result<fs::path> user_dir(const char* variable, const char* below_home) {
  if (const auto base = absolute_from_environment(variable)) return *base / "kvboost";
  auto home = absolute_from_environment("HOME");
  if (!home) home = home_from_password_file();
  if (!home) {
    return fail(ErrorCode::kNotFound, "you have no home directory: HOME is not an absolute path",
                std::string("set HOME or ") + variable);
  }
  return *home / below_home / "kvboost";
}

std::string octal(mode_t mode) {
  std::array<char, 8> text;
  std::snprintf(text.data(), text.size(), "%04o", static_cast<unsigned>(mode & 07777));
  return text.data();
}

std::unexpected<Error> fail_mode(const fs::path& dir, mode_t mode) {
  return fail(ErrorCode::kIo, dir.string() + " has mode " + octal(mode) + ": its owner may not use it",
              "chmod 700 '" + dir.string() + "'");
}

/// An open directory that is no symbolic link; O_PATH, so that its mode does not matter.
class DirectoryHandle {
 public:
  explicit DirectoryHandle(const fs::path& dir)
      : fd_(::open(dir.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)), error_(errno) {}
  ~DirectoryHandle() {
    if (fd_ >= 0) ::close(fd_);
  }
  DirectoryHandle(const DirectoryHandle&) = delete;
  DirectoryHandle& operator=(const DirectoryHandle&) = delete;

  [[nodiscard]] bool is_open() const { return fd_ >= 0; }
  [[nodiscard]] int error() const { return error_; }
  [[nodiscard]] bool status(struct stat& out) const { return ::fstat(fd_, &out) == 0; }
  /// By the descriptor, not the name: what was checked is what is changed.
  [[nodiscard]] bool make_private() const {
    const std::string self = "/proc/self/fd/" + std::to_string(fd_);
    return ::chmod(self.c_str(), 0700) == 0;
  }

 private:
  int fd_;
  int error_;
};

std::unexpected<Error> fail_to_make(const fs::path& dir, int error) {
  return fail_errno("cannot create the directory " + dir.string(), error,
                    "the XDG variables choose other places, for instance XDG_STATE_HOME");
}

/// Makes `dir` and its parents, each 0700. True if `dir` itself is new.
Result<bool> make_dirs(const fs::path& dir) {
  if (::mkdir(dir.c_str(), 0700) == 0) return true;
  if (errno == EEXIST) return false;
  const int error = errno;
  if (error != ENOENT || dir.parent_path() == dir) return fail_to_make(dir, error);
  if (auto parent = make_dirs(dir.parent_path()); !parent) return parent;
  if (::mkdir(dir.c_str(), 0700) == 0) return true;
  if (errno == EEXIST) return false;
  return fail_to_make(dir, errno);
}

}  // namespace

Result<fs::path> config_dir() {
  return user_dir("XDG_CONFIG_HOME", ".config");
}
Result<fs::path> cache_dir() {
  return user_dir("XDG_CACHE_HOME", ".cache");
}
Result<fs::path> data_dir() {
  return user_dir("XDG_DATA_HOME", ".local/share");
}
Result<fs::path> state_dir() {
  return user_dir("XDG_STATE_HOME", ".local/state");
}

Result<fs::path> runtime_dir() {
  const fs::path fallback = "/tmp/kvboost-" + std::to_string(geteuid());
  const auto base = absolute_from_environment("XDG_RUNTIME_DIR");
  if (!base) return fallback;
  struct stat status {};
  if (::stat(base->c_str(), &status) == 0) {
    // Another user's, as after `sudo -E`: the specification wants it to be ours.
    if (status.st_uid != geteuid()) return fallback;
    if ((status.st_mode & 0700) != 0700) return fail_mode(*base, status.st_mode);
  }
  return *base / "kvboost";
}

Result<void> ensure_private_dir(const fs::path& dir) {
  const auto created = make_dirs(dir);
  if (!created) return fail(created.error());
  const DirectoryHandle handle(dir);
  if (!handle.is_open()) {
    if (handle.error() == ENOTDIR || handle.error() == ELOOP) {
      return fail(ErrorCode::kInvalidArgument, dir.string() + " is not a directory, or is a symbolic link",
                  "move it away; kvboost makes its own");
    }
    return fail_errno("cannot open the directory " + dir.string(), handle.error());
  }
  struct stat status {};
  if (!handle.status(status)) return fail_errno("cannot look at " + dir.string(), errno);
  if (status.st_uid != geteuid()) {
    return fail(ErrorCode::kInvalidArgument,
                dir.string() + " belongs to user " + std::to_string(status.st_uid) + ", not to you (" +
                    std::to_string(geteuid()) + ")",
                "remove it, or point XDG_RUNTIME_DIR or the other XDG variables to a directory of yours");
  }
  const bool too_open = (status.st_mode & 0077) != 0;
  const bool closed_to_us = (status.st_mode & 0700) != 0700;
  if (closed_to_us && !*created) return fail_mode(dir, status.st_mode);
  if (too_open || closed_to_us) {
    if (!handle.make_private()) return fail_errno("cannot close " + dir.string() + " to others", errno);
    if (!*created)
      log::warn("{} was open to others ({}); it is 0700 now", dir.string(), octal(status.st_mode));
  }
  return {};
}

}  // namespace kvboost
