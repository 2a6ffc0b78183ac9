// SPDX-License-Identifier: Apache-2.0
// GitRules: what git knows about the files of one directory: which are tracked, which ignored, what HEAD is.
// By libgit2; where there is no repository, or one that libgit2 refuses, the .gitignore files still count,
// and `note` says why. Each object is a snapshot of the index and belongs to one thread at a time.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"

namespace kvboost::cache {

/// Where a search upwards from a directory ended.
struct FoundRepository {
  std::filesystem::path root;     // of the work tree
  std::filesystem::path git_dir;  // what to open; empty: no repository
};

/// The nearest repository that holds `directory`, or `directory` itself. A bare one is kInvalidArgument.
[[nodiscard]] Result<FoundRepository> find_repository(const std::filesystem::path& directory);

class GitRules {
 public:
  /// Never fails: where git cannot help, all files are untracked.
  [[nodiscard]] static GitRules open(const std::filesystem::path& root, const std::filesystem::path& git_dir);
  GitRules(GitRules&&) noexcept;
  GitRules& operator=(GitRules&&) noexcept;
  ~GitRules();

  [[nodiscard]] bool is_repository() const;
  /// Paths are relative to the root.
  [[nodiscard]] bool tracks(const std::string& path) const;
  /// Whether something beneath the folder is tracked (`folder` ends with '/').
  [[nodiscard]] bool tracks_below(const std::string& folder) const;
  [[nodiscard]] bool is_submodule(const std::string& path) const;
  /// Ignored by a .gitignore file, info/exclude or core.excludesFile. A folder's path ends with '/'.
  [[nodiscard]] bool ignores(const std::string& path) const;

  [[nodiscard]] const std::string& head() const;    // commit id, or empty
  [[nodiscard]] const std::string& branch() const;  // or empty
  [[nodiscard]] const std::string& note() const;    // why git was not used, or empty

 private:
  struct Impl;
  explicit GitRules(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// The rules of a .kvboostignore file: git's grammar, matched by libgit2, but for tracked files as well.
class IgnoreRules {
 public:
  explicit IgnoreRules(const std::string& rules);
  IgnoreRules(IgnoreRules&&) noexcept;
  IgnoreRules& operator=(IgnoreRules&&) noexcept;
  ~IgnoreRules();

  [[nodiscard]] bool ignores(const std::string& path) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kvboost::cache
