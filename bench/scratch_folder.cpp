// SPDX-License-Identifier: Apache-2.0
#include "bench/scratch_folder.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string>
#include <system_error>
#include <vector>

namespace kvboost::bench {

namespace fs = std::filesystem;

Result<ScratchFolder> ScratchFolder::make(const fs::path& in) {
  std::error_code error;
  fs::create_directories(in, error);
  std::string name = (in / "kvboost-bench-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) return fail_errno(in.string(), errno);
  return ScratchFolder(name);
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  if (!path_.empty()) fs::remove_all(path_, ignored);
}

Result<void> make_cold(const fs::path& file) {
  const int descriptor = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return fail_errno(file.string(), errno);
  ::fsync(descriptor);
  ::posix_fadvise(descriptor, 0, 0, POSIX_FADV_DONTNEED);
  ::close(descriptor);
  return {};
}

Result<void> make_warm(const fs::path& file) {
  const int descriptor = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return fail_errno(file.string(), errno);
  std::vector<char> buffer(1 << 20);
  ssize_t got = 0;
  while ((got = ::read(descriptor, buffer.data(), buffer.size())) > 0) {
  }
  const int error = errno;
  ::close(descriptor);
  return got < 0 ? fail_errno(file.string(), error) : Result<void>();
}

}  // namespace kvboost::bench
