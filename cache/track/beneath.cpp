// SPDX-License-Identifier: Apache-2.0
#include "cache/track/beneath.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/bytes.h"
#include "base/file_descriptor.h"

namespace kvboost::cache {
namespace {

std::unexpected<Error> fail_open(int errno_value) {
  if (errno_value == ENOENT) return fail(ErrorCode::kNotFound, "no such file");
  return fail(ErrorCode::kIo, std::string("unreadable: ") + std::strerror(errno_value));
}

// What the name is, without following or opening it.
Result<struct stat> look_at(int directory, const std::string& name) {
  struct stat status = {};
  if (::fstatat(directory, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) return fail_open(errno);
  if (S_ISLNK(status.st_mode)) return fail(ErrorCode::kInvalidArgument, "symbolic link");
  return status;
}

Result<FileDescriptor> open_folder(int directory, const std::string& name) {
  const auto status = look_at(directory, name);
  if (!status) return fail(status.error());
  if (!S_ISDIR(status->st_mode)) return fail(ErrorCode::kNotFound, "no such file");
  FileDescriptor folder(::openat(directory, name.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!folder.is_open()) return fail_open(errno);
  return folder;
}

Result<FileDescriptor> open_file(int directory, const std::string& name) {
  const auto status = look_at(directory, name);
  if (!status) return fail(status.error());
  if (S_ISDIR(status->st_mode)) return fail(ErrorCode::kInvalidArgument, "a folder");
  if (!S_ISREG(status->st_mode)) return fail(ErrorCode::kInvalidArgument, "not a regular file");
  // Should it have become a FIFO since, O_NONBLOCK keeps the call from waiting.
  FileDescriptor file(
      ::openat(directory, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!file.is_open()) return fail_open(errno);
  return file;
}

Result<std::string> read_all(int file, std::uint64_t max_bytes) {
  struct stat status = {};
  if (::fstat(file, &status) != 0) return fail_open(errno);
  if (!S_ISREG(status.st_mode)) return fail(ErrorCode::kInvalidArgument, "not a regular file");
  std::string bytes;
  std::size_t have = 0;
  // One byte more than the file is said to have, so that its end shows in the same loop.
  std::size_t want = static_cast<std::size_t>(std::min<std::uint64_t>(status.st_size, max_bytes)) + 1;
  while (true) {
    bytes.resize(want);
    const ssize_t n = ::read(file, bytes.data() + have, want - have);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail_open(errno);
    have += static_cast<std::size_t>(n);
    if (have > max_bytes) return fail(ErrorCode::kInvalidArgument, larger_than(max_bytes));
    if (n == 0) break;
    if (have == want) want *= 2;
  }
  bytes.resize(have);
  return bytes;
}

}  // namespace

std::string larger_than(std::uint64_t max_bytes) {
  return "larger than " + human_size(max_bytes);
}

Result<std::string> read_beneath(const std::filesystem::path& root, std::string_view path,
                                 std::uint64_t max_bytes) {
  if (path.empty() || path.find('\0') != std::string_view::npos) {
    return fail(ErrorCode::kInvalidArgument, "not a file name");
  }
  FileDescriptor folder(::open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!folder.is_open()) return fail_open(errno);
  std::size_t begin = 0;
  while (true) {
    const std::size_t slash = path.find('/', begin);
    const std::string part(path.substr(begin, slash - begin));
    if (part.empty() || part == "." || part == "..") {
      return fail(ErrorCode::kInvalidArgument, "not a path beneath the work tree");
    }
    if (slash == std::string_view::npos) {
      const auto file = open_file(folder.get(), part);
      if (!file) return fail(file.error());
      return read_all(file->get(), max_bytes);
    }
    auto next = open_folder(folder.get(), part);
    if (!next) return fail(next.error());
    folder = std::move(*next);
    begin = slash + 1;
  }
}

}  // namespace kvboost::cache
