// SPDX-License-Identifier: Apache-2.0
// LockFile: a file that at most one process holds; the kernel frees it when that process ends, however it
// ends. An open-file-description lock (fcntl), so that others can ask whether it is held without taking it,
// and so that threads of one process exclude each other too. Movable; one thread.
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/file_descriptor.h"

namespace kvboost {

class LockFile {
 public:
  /// Takes the lock and writes `note` (one line: who holds it) into the file, which is made 0600 if absent.
  /// kBusy, with the holder's note, if somebody holds it; kInvalidArgument for a link, another user's file or
  /// one that is no plain file.
  [[nodiscard]] static Result<LockFile> acquire(const std::filesystem::path& file, std::string_view note);
  /// As acquire, but waits up to `patience` for the holder. kCancelled on stop.
  [[nodiscard]] static Result<LockFile> acquire_within(const std::filesystem::path& file,
                                                       std::string_view note,
                                                       std::chrono::milliseconds patience,
                                                       std::stop_token stop);
  /// The holder's note, or nothing if nobody holds it (then the file may be absent too).
  [[nodiscard]] static Result<std::optional<std::string>> holder(const std::filesystem::path& file);
  /// True once nobody holds it, false if that does not come within `patience` or on stop.
  [[nodiscard]] static bool wait_until_free(const std::filesystem::path& file,
                                            std::chrono::milliseconds patience, std::stop_token stop);

 private:
  explicit LockFile(FileDescriptor file) : file_(std::move(file)) {}

  FileDescriptor file_;  // closing it frees the lock; the file stays, as removing it would let two hold "it"
};

}  // namespace kvboost
