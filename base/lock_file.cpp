// SPDX-License-Identifier: Apache-2.0
#include "base/lock_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <thread>

namespace kvboost {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::milliseconds kPoll{5};

std::unexpected<Error> refuse(const fs::path& file, std::string why) {
  return fail(ErrorCode::kInvalidArgument, "the lock file " + file.string() + " " + std::move(why),
              "remove it; kvboost makes its own");
}

/// Opens the file if it is a plain one of ours.
Result<FileDescriptor> open_own(const fs::path& file, int flags) {
  FileDescriptor opened(::open(file.c_str(), flags | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0600));
  if (!opened.is_open()) {
    if (errno == ELOOP) return refuse(file, "is a symbolic link");
    return fail_errno("cannot open the lock file " + file.string(), errno);
  }
  struct stat status {};
  if (::fstat(opened.get(), &status) != 0) return fail_errno("cannot look at " + file.string(), errno);
  if (!S_ISREG(status.st_mode)) return refuse(file, "is no plain file");
  if (status.st_uid != ::geteuid()) return refuse(file, "belongs to user " + std::to_string(status.st_uid));
  if (status.st_nlink > 1) return refuse(file, "has a second name (a hard link)");
  return opened;
}

struct flock whole_file(short type) {
  struct flock lock {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  return lock;
}

std::string read_note(int fd) {
  std::array<char, 256> text;
  const ssize_t count = ::pread(fd, text.data(), text.size(), 0);
  std::string note(text.data(), count > 0 ? static_cast<std::size_t>(count) : 0);
  return note.substr(0, note.find('\n'));
}

/// Whether `fd` is still what `file` names: somebody may have removed the file while we waited.
bool is_named(int fd, const fs::path& file) {
  struct stat opened {};
  struct stat named {};
  return ::fstat(fd, &opened) == 0 && ::lstat(file.c_str(), &named) == 0 && opened.st_dev == named.st_dev &&
         opened.st_ino == named.st_ino;
}

}  // namespace

Result<LockFile> LockFile::acquire(const fs::path& file, std::string_view note) {
  for (;;) {
    auto opened = open_own(file, O_RDWR | O_CREAT);
    if (!opened) return fail(opened.error());
    struct flock lock = whole_file(F_WRLCK);
    if (::fcntl(opened->get(), F_OFD_SETLK, &lock) != 0) {
      if (errno != EAGAIN && errno != EACCES) return fail_errno("cannot lock " + file.string(), errno);
      return fail(ErrorCode::kBusy, file.string() + " is held by " + read_note(opened->get()));
    }
    if (!is_named(opened->get(), file)) continue;
    const std::string line = std::string(note) + "\n";
    if (::ftruncate(opened->get(), 0) != 0 ||
        ::pwrite(opened->get(), line.data(), line.size(), 0) != static_cast<ssize_t>(line.size())) {
      return fail_errno("cannot write " + file.string(), errno);
    }
    return LockFile(std::move(*opened));
  }
}

Result<LockFile> LockFile::acquire_within(const fs::path& file, std::string_view note,
                                          std::chrono::milliseconds patience, std::stop_token stop) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  for (;;) {
    auto lock = acquire(file, note);
    if (lock || lock.error().code != ErrorCode::kBusy) return lock;
    if (stop.stop_requested()) return fail(ErrorCode::kCancelled, "cancelled");
    if (std::chrono::steady_clock::now() >= deadline) return lock;
    std::this_thread::sleep_for(kPoll);
  }
}

Result<std::optional<std::string>> LockFile::holder(const fs::path& file) {
  auto opened = open_own(file, O_RDWR);
  if (!opened) {
    if (opened.error().code == ErrorCode::kNotFound) return std::nullopt;
    return fail(opened.error());
  }
  struct flock lock = whole_file(F_WRLCK);
  if (::fcntl(opened->get(), F_OFD_GETLK, &lock) != 0)
    return fail_errno("cannot ask for " + file.string(), errno);
  if (lock.l_type == F_UNLCK) return std::nullopt;
  return read_note(opened->get());
}

bool LockFile::wait_until_free(const fs::path& file, std::chrono::milliseconds patience,
                               std::stop_token stop) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  for (;;) {
    if (const auto held = holder(file); held && !*held) return true;
    if (stop.stop_requested() || std::chrono::steady_clock::now() >= deadline) return false;
    std::this_thread::sleep_for(kPoll);
  }
}

}  // namespace kvboost
