// SPDX-License-Identifier: Apache-2.0
// Walk: one pass over a work tree's folders that decides about each entry: listed, left out with a reason, or
// passed over (ignored). Each entry is looked at without being followed or opened; folders are opened part by
// part, beneath the root. Made for one listing, on one thread.
#pragma once

#include <filesystem>
#include <string>

#include "cache/track/git_rules.h"
#include "cache/track/work_tree.h"

namespace kvboost::cache {

struct WalkLimits {
  std::uint64_t max_file_bytes = 1'000'000;
  std::size_t max_untracked_files = 50'000;
  int max_depth = 100;
};

class Walk {
 public:
  Walk(std::filesystem::path root, const WalkLimits& limits);

  /// Lists everything under the root by `rules`, and submodules and, outside of a repository, inner
  /// repositories each by their own.
  [[nodiscard]] Result<FileListing> run(const GitRules& rules);

 private:
  /// The repository that a folder is in: paths for `rules` are relative to its root.
  struct Place {
    const GitRules* rules;
    std::size_t prefix;    // length of the repository's own path, with its '/'
    bool ignored = false;  // beneath an ignored folder: only tracked files count
    int depth = 0;
  };

  void folder(int fd, const std::string& path, const Place& place);
  void entry(int fd, const std::string& folder, const std::string& name, unsigned char type,
             const Place& place);
  void inner_folder(int parent, const std::string& name, const std::string& path, Place place);
  void inner_repository(int fd, const std::string& path, int depth);
  void file(int parent, const std::string& name, const std::string& path, const Place& place);
  /// Why an untracked folder is left out as a whole, or nullptr.
  [[nodiscard]] const char* unwanted_folder(int fd, const std::string& name, const Place& place) const;
  void skip(const std::string& path, std::string reason);

  std::filesystem::path root_;
  WalkLimits limits_;
  IgnoreRules own_rules_;
  std::uint64_t device_ = 0;  // the root's file system
  std::size_t untracked_ = 0;
  bool stopped_ = false;  // too many untracked files
  FileListing listing_;
};

}  // namespace kvboost::cache
