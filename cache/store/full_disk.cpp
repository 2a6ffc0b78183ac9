// SPDX-License-Identifier: Apache-2.0
#include "cache/store/full_disk.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "base/file_descriptor.h"

namespace kvboost::cache {
namespace {

constexpr off_t kSome = 1 << 20;

/// What stands in the way of some bytes more: an errno, or 0.
int refusal(const std::filesystem::path& file) {
  rlimit most{};
  struct stat status {};
  if (::stat(file.c_str(), &status) == 0 && ::getrlimit(RLIMIT_FSIZE, &most) == 0 &&
      most.rlim_cur < static_cast<rlim_t>(status.st_size + kSome)) {
    return EFBIG;
  }
  const FileDescriptor probe(
      ::open(file.parent_path().c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, S_IRUSR | S_IWUSR));
  return probe.is_open() ? ::posix_fallocate(probe.get(), 0, kSome) : 0;
}

}  // namespace

std::optional<Error> disk_is_full(const std::filesystem::path& file, int code) {
  if (code == EIO) code = refusal(file);
  const char* what = code == ENOSPC   ? "the disk is full"
                     : code == EDQUOT ? "the disk quota is used up"
                     : code == EFBIG  ? "files may not grow so large (ulimit -f)"
                                      : nullptr;
  if (what == nullptr) return std::nullopt;
  return Error{ErrorCode::kIo, std::string(what) + ": " + file.parent_path().string(),
               "make room there, lower max_disk, or move the cache with XDG_CACHE_HOME"};
}

}  // namespace kvboost::cache
