// SPDX-License-Identifier: Apache-2.0
#include "base/replace_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace kvboost {
namespace {

Result<void> write_all(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return fail_errno("writing", errno);
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  if (::fsync(descriptor) != 0) return fail_errno("writing", errno);
  return {};
}

}  // namespace

Result<void> replace_file(const std::filesystem::path& file, std::string_view bytes, mode_t mode) {
  std::string temporary = file.string() + ".XXXXXX";
  const int descriptor = ::mkostemp(temporary.data(), O_CLOEXEC);
  if (descriptor < 0) return fail_errno("cannot write to " + file.parent_path().string(), errno);
  Result<void> done = write_all(descriptor, bytes);
  if (done && ::fchmod(descriptor, mode) != 0) done = fail_errno("setting the rights", errno);
  ::close(descriptor);
  if (done && ::rename(temporary.c_str(), file.c_str()) != 0) done = fail_errno("replacing", errno);
  if (done) return {};
  ::unlink(temporary.c_str());
  return fail(done.error().code, file.string() + ": " + done.error().message);
}

}  // namespace kvboost
