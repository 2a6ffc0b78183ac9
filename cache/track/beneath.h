// SPDX-License-Identifier: Apache-2.0
// Opening files beneath a folder and nowhere else: part by part, following no link, whatever changes on the
// disk meanwhile. Only regular files are opened: a FIFO would block, a device might act. Any thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"

namespace kvboost::cache {

/// Owns a file descriptor.
class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor();

  [[nodiscard]] int get() const { return fd_; }
  [[nodiscard]] bool is_open() const { return fd_ >= 0; }
  /// Gives the descriptor away.
  [[nodiscard]] int release() { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

/// The bytes of root/path. `path` is relative, with '/' between parts, none of them "." or "..". The message
/// of an error is the bare reason ("symbolic link", "larger than 64 MB", ...); kNotFound when there is no
/// such file.
[[nodiscard]] Result<std::string> read_beneath(const std::filesystem::path& root, std::string_view path,
                                               std::uint64_t max_bytes);

/// "larger than 1.0 MB": the reason for leaving out a file by its size.
[[nodiscard]] std::string larger_than(std::uint64_t max_bytes);

}  // namespace kvboost::cache
