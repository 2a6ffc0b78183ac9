// SPDX-License-Identifier: Apache-2.0
// Files and folders that the user names, as paths of the work tree. Any thread.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/error.h"
#include "daemon/prompt/repository.h"

namespace kvboost::daemon {

/// Each file once.
struct NamedFiles {
  std::vector<std::string> single;      // named themselves, in the given order
  std::vector<std::string> of_folders;  // the listed files of folders, sorted, but for those above
};

/// A file that git ignores may be named all the same. kInvalidArgument: outside of the work tree, left out
/// for a reason, or a folder with nothing to read; kNotFound: not there. Relative paths start at `directory`.
[[nodiscard]] Result<NamedFiles> resolve_names(const Repository& repository,
                                               const std::vector<std::string>& paths,
                                               const std::filesystem::path& directory);

/// All of them, those of folders behind the others.
[[nodiscard]] Result<std::vector<std::string>> resolve_paths(const Repository& repository,
                                                             const std::vector<std::string>& paths,
                                                             const std::filesystem::path& directory);

/// One path, which need not exist, relative to the root: "" for the root itself, without a '/' at its end.
/// Links on the way are followed, so that a path through one is judged by where it leads; the last part is
/// taken as it is. kInvalidArgument: outside of the work tree.
[[nodiscard]] Result<std::string> path_in_root(const std::filesystem::path& root, const std::string& given,
                                               const std::filesystem::path& directory);

}  // namespace kvboost::daemon
