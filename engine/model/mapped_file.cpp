// SPDX-License-Identifier: Apache-2.0
#include "engine/model/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace kvboost::engine {
namespace {

std::string_view kind_of(mode_t mode) {
  if (S_ISDIR(mode)) return "a directory";
  if (S_ISFIFO(mode)) return "a named pipe";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

}  // namespace

Result<MappedFile> MappedFile::open(const std::filesystem::path& file) {
  MappedFile mapped;
  // O_NONBLOCK: opening a FIFO that nobody writes to would wait for ever.
  mapped.descriptor_ = ::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (mapped.descriptor_ < 0) return fail_errno("cannot open " + file.string(), errno);
  struct stat status {};
  if (::fstat(mapped.descriptor_, &status) != 0) return fail_errno("cannot look at " + file.string(), errno);
  if (!S_ISREG(status.st_mode)) {
    return fail(ErrorCode::kInvalidArgument,
                file.string() + " is " + std::string(kind_of(status.st_mode)) + ", not a file",
                "name the model file itself");
  }
  if (status.st_size == 0) {
    return fail(ErrorCode::kCorrupt, file.string() + " is empty", "fetch the file again");
  }
  const auto size = static_cast<std::size_t>(status.st_size);
  void* start = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, mapped.descriptor_, 0);
  if (start == MAP_FAILED) return fail_errno("cannot map " + file.string(), errno);
  mapped.bytes_ = {static_cast<const std::byte*>(start), size};
  return mapped;
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
  if (descriptor_ >= 0) ::close(descriptor_);
}

Result<void> MappedFile::check_size() const {
  struct stat status {};
  if (descriptor_ < 0) return {};
  if (::fstat(descriptor_, &status) != 0) return fail_errno("cannot look at the mapped file", errno);
  if (static_cast<std::size_t>(status.st_size) < bytes_.size()) {
    return fail(ErrorCode::kCorrupt,
                "the file became shorter while it was in use: " + std::to_string(bytes_.size()) +
                    " bytes, now " + std::to_string(status.st_size),
                "replace a model file by renaming a new one over it");
  }
  return {};
}

void MappedFile::swap(MappedFile& other) noexcept {
  std::swap(bytes_, other.bytes_);
  std::swap(descriptor_, other.descriptor_);
}

}  // namespace kvboost::engine
