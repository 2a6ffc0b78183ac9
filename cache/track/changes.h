// SPDX-License-Identifier: Apache-2.0
// Which files of a work tree differ from a commit, by libgit2. Reads the repository, writes nothing: not even
// the index's remembered times. Any thread.
#pragma once

#include <filesystem>
#include <stop_token>
#include <string>
#include <vector>

#include "base/error.h"

namespace kvboost::cache {

/// Paths that are in the work tree otherwise than in HEAD, in the index or not: changed, new, untracked. They
/// are relative to `root`, which is the repository's, and sorted. Deleted files are not among them, ignored
/// ones neither. A submodule that differs is given as its folder, with '/' at its end. Before the first
/// commit everything differs. kInvalidArgument: no repository, or one that libgit2 refuses.
[[nodiscard]] Result<std::vector<std::string>> changed_since_head(const std::filesystem::path& root,
                                                                  const std::stop_token& stop);

/// The same against any revision that git understands: "HEAD~3", "v1.0", "main@{yesterday}".
/// kInvalidArgument: there is none of that name.
[[nodiscard]] Result<std::vector<std::string>> changed_since(const std::filesystem::path& root,
                                                             const std::string& revision,
                                                             const std::stop_token& stop);

}  // namespace kvboost::cache
