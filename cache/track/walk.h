// SPDX-License-Identifier: Apache-2.0
// Walk: one pass over a work tree's folders that decides about each entry: listed, left out with a reason, or
// passed over (ignored). Each entry is looked at without being followed or opened; folders are opened part by
// part, beneath the root. Made for one listing, on one thread.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>

#include "base/file_descriptor.h"
#include "cache/track/git_rules.h"
#include "cache/track/work_tree.h"

namespace kvboost::cache {

struct WalkLimits {
  std::uint64_t max_file_bytes = 1'000'000;
  std::size_t max_untracked_files = 50'000;
  // Of a directory that is no repository: it may be a home, or all of the machine.
  std::size_t max_plain_files = 10'000;
  std::uint64_t max_plain_bytes = 400'000'000;
  std::size_t max_plain_entries = 200'000;  // looked at, whatever they are
  int max_depth = 100;
};

class Walk {
 public:
  Walk(std::filesystem::path root, const WalkLimits& limits);

  /// Lists everything under the root by `rules`, and submodules and, outside of a repository, inner
  /// repositories each by their own. `seen` is told now and then how many entries it has looked at.
  [[nodiscard]] Result<FileListing> run(const GitRules& rules, const std::stop_token& stop = {},
                                        const std::function<void(std::int64_t)>& seen = {});

 private:
  /// A folder on the way down, and the repository that it is in: paths for `rules` are relative to its root.
  struct Place {
    const GitRules* rules;
    const Place* outer;      // nullptr at the repository's root
    std::string path;        // from the walk's root, ends with '/' unless empty
    std::size_t prefix = 0;  // length of the repository's own path
    int depth = 0;
    mutable std::optional<bool> ignored{};  // asked for only where something is not tracked: it is costly
  };

  void folder(FileDescriptor fd, const Place& place);
  void inner_folder(int parent, const std::string& name, const Place& place);
  void inner_repository(FileDescriptor fd, const std::string& path, int depth);
  void file(int parent, const std::string& name, const Place& place);
  /// Whether git ignores the folder or one that it is in: then only tracked files count.
  [[nodiscard]] static bool is_ignored(const Place& place);
  /// Why an untracked folder is left out as a whole, or nullptr.
  [[nodiscard]] const char* unwanted_folder(int fd, const std::string& name, const Place& place) const;
  void skip(const std::string& path, std::string reason);
  /// Counts one more entry; false when the walk is to end.
  [[nodiscard]] bool go_on();
  void stop_at(std::string limit);

  std::filesystem::path root_;
  WalkLimits limits_;
  IgnoreRules own_rules_;
  std::uint64_t device_ = 0;  // the root's file system
  bool plain_ = false;        // no repository
  std::stop_token stop_;
  std::function<void(std::int64_t)> seen_;
  std::size_t entries_ = 0;
  std::size_t untracked_ = 0;
  std::uint64_t untracked_bytes_ = 0;
  std::string limit_;  // "more than ...": why nothing untracked is listed any more
  FileListing listing_;
};

}  // namespace kvboost::cache
