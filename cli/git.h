// SPDX-License-Identifier: Apache-2.0
// What git itself says about a work tree: it is git that runs hooks, so git is asked where. One thread;
// blocks.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/error.h"

namespace kvboost::cli {

/// What `git ARGUMENTS` in `directory` prints, without the newline at its end. kNotFound: git is not
/// installed; kInvalidArgument: git refuses, in its own words.
[[nodiscard]] Result<std::string> git(const std::filesystem::path& directory,
                                      const std::vector<std::string>& arguments);

/// Where git looks for the hooks of the work tree that holds a directory.
struct HookPlace {
  std::filesystem::path work_tree;
  std::filesystem::path hooks;  // need not exist
  bool configured = false;      // by core.hooksPath: other repositories may use the same folder
};
/// kInvalidArgument: no repository, or a bare one.
[[nodiscard]] Result<HookPlace> find_hooks(const std::filesystem::path& directory);

}  // namespace kvboost::cli
