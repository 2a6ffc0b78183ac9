// SPDX-License-Identifier: Apache-2.0
// WorkTree: which files of a directory belong to the repository, by libgit2; a directory that is no
// repository, or that libgit2 refuses, is walked instead, with the reason in one line. One object belongs to
// one thread at a time (a worker).
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace kvboost::cache {

/// One regular file. `path` is relative to the root, '/' between parts, any bytes but NUL. The stat fields
/// tell whether a cached reading is still good; they are no proof of equal content.
struct TrackedFile {
  std::string path;
  std::uint64_t size = 0;
  std::int64_t mtime_ns = 0;
  std::int64_t ctime_ns = 0;
  std::uint64_t inode = 0;
};

/// A file that was left out, and why: "secret", "symbolic link", "not a regular file", "larger than 1 MB",
/// "unreadable: Permission denied", ...
struct SkippedFile {
  std::string path;
  std::string reason;
};

struct FileListing {
  std::vector<TrackedFile> files;  // sorted by path
  std::vector<SkippedFile> skipped;
  std::string head;    // commit id of HEAD, hexadecimal; empty before the first commit
  std::string branch;  // short name, or empty when detached
  std::string note;    // why git was not used, or what is odd, in one line; else empty
};

class WorkTree {
 public:
  /// Finds the work tree that holds `start` (a file or a directory): the nearest repository's root, or,
  /// outside of one, `start` itself (its directory). kNotFound when it does not exist.
  [[nodiscard]] static Result<WorkTree> discover(const std::filesystem::path& start);

  WorkTree(WorkTree&&) noexcept;
  WorkTree& operator=(WorkTree&&) noexcept;
  ~WorkTree();

  [[nodiscard]] const std::filesystem::path& root() const;
  [[nodiscard]] bool is_repository() const;

  /// Tracked files and untracked ones that are not ignored (.gitignore, .kvboostignore). Symbolic links are
  /// not followed, special files never opened, secrets (docs/secrets.md) left out even when tracked.
  /// `seen` is told now and then how many names were looked at.
  [[nodiscard]] Result<FileListing> list(std::uint64_t max_file_bytes, const std::stop_token& stop = {},
                                         const std::function<void(std::int64_t)>& seen = {}) const;

  /// Content of one listed file, as UTF-8 text: a byte-order mark is dropped, UTF-16 converted. Binary
  /// content (NUL bytes) and other encodings are kInvalidArgument with the reason. The path is opened without
  /// following links, beneath the root only.
  [[nodiscard]] Result<std::string> read_text(std::string_view path) const;

 private:
  struct Impl;
  explicit WorkTree(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// Whether a path names a secret by its name (.env, id_rsa, *.pem, credentials.json, ...).
[[nodiscard]] bool is_secret_path(std::string_view path);

}  // namespace kvboost::cache
