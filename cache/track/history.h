// SPDX-License-Identifier: Apache-2.0
// A repository's past: what its commits changed, and the files of one of them. For measuring; any thread.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "base/error.h"

namespace kvboost::cache {

/// A commit with one parent.
struct CommitChange {
  std::string id;
  std::string parent;
  std::string message;
  std::vector<std::string> modified;  // files that are there before and after it
  std::size_t others = 0;             // files that it adds, removes or renames
};

/// The newest first, from HEAD on, until `visit` returns false. Merges and first commits are left out.
/// kInvalidArgument: no repository.
[[nodiscard]] Result<void> walk_history(const std::filesystem::path& repository,
                                        const std::function<bool(const CommitChange&)>& visit);

/// Writes the regular files of a revision into `folder`.
[[nodiscard]] Result<void> write_tree(const std::filesystem::path& repository, const std::string& revision,
                                      const std::filesystem::path& folder);

}  // namespace kvboost::cache
