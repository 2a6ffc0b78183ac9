// SPDX-License-Identifier: Apache-2.0
// What the files of this folder that use libgit2 share: starting it, a repository's handle, and why one was
// refused. libgit2's errors belong to a thread: ask for the reason on the one that failed. Any thread.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

struct git_repository;

namespace kvboost::cache {

struct GitRepositoryCloser {
  void operator()(git_repository* repository) const;
};
using GitRepositoryHandle = std::unique_ptr<git_repository, GitRepositoryCloser>;

/// Before anything else of libgit2; the first call starts it, and it is never stopped.
void start_libgit2();

/// What libgit2 says about its last failure on this thread.
[[nodiscard]] std::string last_git_message();

struct GitRefusal {
  std::string reason;
  std::string remedy;  // or empty
};
/// Why this repository could not be opened just now.
[[nodiscard]] GitRefusal git_refusal(const std::filesystem::path& root, const std::filesystem::path& git_dir);

}  // namespace kvboost::cache
