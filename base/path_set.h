// SPDX-License-Identifier: Apache-2.0
// Sets of files and folders, relative to one root: '/' between parts, none at the end, "" for the root. Pure
// functions, any thread.
#pragma once

#include <set>
#include <string>

namespace kvboost {

/// Whether the path, or a folder above it, is in the set.
[[nodiscard]] inline bool holds(const std::set<std::string>& paths, std::string path) {
  if (paths.empty()) return false;
  while (!paths.contains(path)) {
    if (path.empty()) return false;
    const auto slash = path.rfind('/');
    path.resize(slash == std::string::npos ? 0 : slash);
  }
  return true;
}

}  // namespace kvboost
