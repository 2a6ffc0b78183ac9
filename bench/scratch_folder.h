// SPDX-License-Identifier: Apache-2.0
// ScratchFolder: a folder of a benchmark's own that goes with the object; and files that the page cache has
// forgotten. One thread.
#pragma once

#include <filesystem>
#include <utility>

#include "base/error.h"

namespace kvboost::bench {

class ScratchFolder {
 public:
  /// Within `in`, which is made where it is missing.
  [[nodiscard]] static Result<ScratchFolder> make(const std::filesystem::path& in);
  ScratchFolder(ScratchFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  ScratchFolder& operator=(ScratchFolder&&) = delete;
  ~ScratchFolder();

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  explicit ScratchFolder(std::filesystem::path path) : path_(std::move(path)) {}
  std::filesystem::path path_;
};

/// Writes a file's pages to the disk and has the page cache forget them. Nothing may have them mapped.
[[nodiscard]] Result<void> make_cold(const std::filesystem::path& file);

/// Reads a file through, so that the page cache has it.
[[nodiscard]] Result<void> make_warm(const std::filesystem::path& file);

}  // namespace kvboost::bench
