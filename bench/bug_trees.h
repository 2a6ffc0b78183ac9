// SPDX-License-Identifier: Apache-2.0
// BugTrees: the work trees that reports are about, as the daemon would see them: folders as they are, or
// commits of git repositories, written to a scratch folder. One thread.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "bench/bug_set.h"
#include "bench/scratch_folder.h"
#include "cache/rank/bm25.h"
#include "daemon/prompt/file_ranking.h"
#include "daemon/prompt/repository.h"

namespace kvboost::bench {

/// One tree, and what may be named of it.
struct BugTree {
  std::shared_ptr<daemon::Repository> repository;
  daemon::FileFilter wanted;
  std::vector<std::string> files;              // those wanted
  cache::Bm25Index plain{{.path_weight = 1}};  // of whole files, by their place in `files`
};

class BugTrees {
 public:
  /// `folder` holds the set's trees; `scratch` is where commits are written.
  BugTrees(const BugSet& set, std::filesystem::path folder, std::filesystem::path scratch)
      : set_(set), folder_(std::move(folder)), scratch_(std::move(scratch)) {}

  /// Good until the next call. kNotFound: the tree is not there, or lacks a changed file.
  [[nodiscard]] Result<const BugTree*> open(const BugCase& bug);

 private:
  [[nodiscard]] Result<BugTree> read(const BugCase& bug, const std::filesystem::path& folder) const;
  [[nodiscard]] Result<const BugTree*> open_commit(const BugCase& bug);

  const BugSet& set_;
  const std::filesystem::path folder_;
  const std::filesystem::path scratch_;
  std::map<std::string, BugTree> folders_;
  std::string commit_;  // of the tree below
  std::optional<BugTree> commit_tree_;
  std::optional<ScratchFolder> commit_folder_;
};

}  // namespace kvboost::bench
