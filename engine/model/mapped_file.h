// SPDX-License-Identifier: Apache-2.0
// MappedFile: a whole regular file, mapped for reading. Immutable, movable; the bytes live as long as the
// object. Any thread may read.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>

#include "base/error.h"

namespace kvboost::engine {

class MappedFile {
 public:
  /// kNotFound, kIo, kInvalidArgument for a directory, a FIFO or a device (never waited on), kCorrupt for
  /// an empty file.
  [[nodiscard]] static Result<MappedFile> open(const std::filesystem::path& file);

  MappedFile() = default;
  MappedFile(MappedFile&& other) noexcept { swap(other); }
  MappedFile& operator=(MappedFile&& other) noexcept {
    swap(other);
    return *this;
  }
  ~MappedFile();

  [[nodiscard]] std::span<const std::byte> bytes() const { return bytes_; }

  /// kCorrupt when the file has become shorter than its map: reading the lost part would end the process.
  [[nodiscard]] Result<void> check_size() const;

 private:
  void swap(MappedFile& other) noexcept;

  std::span<const std::byte> bytes_;
  int descriptor_ = -1;
};

}  // namespace kvboost::engine
