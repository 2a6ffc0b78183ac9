// SPDX-License-Identifier: Apache-2.0
#include "bench/bug_trees.h"

#include <algorithm>
#include <utility>

#include "cache/rank/fixable.h"
#include "cache/track/history.h"

namespace kvboost::bench {

namespace fs = std::filesystem;

Result<const BugTree*> BugTrees::open(const BugCase& bug) {
  if (!bug.commit.empty()) return open_commit(bug);
  auto known = folders_.find(bug.tree);
  if (known == folders_.end()) {
    auto tree = read(bug, folder_ / bug.tree);
    if (!tree) return fail(tree.error());
    known = folders_.emplace(bug.tree, std::move(*tree)).first;
  }
  return &known->second;
}

Result<const BugTree*> BugTrees::open_commit(const BugCase& bug) {
  const std::string name = bug.tree + " " + bug.commit;
  if (commit_tree_ && commit_ == name) return &*commit_tree_;
  commit_tree_.reset();
  commit_folder_.reset();
  auto folder = ScratchFolder::make(scratch_);
  if (!folder) return fail(folder.error());
  // An absolute name stands for itself: a repository that was mined.
  if (auto written = cache::write_tree(folder_ / bug.tree, bug.commit, folder->path()); !written)
    return fail(written.error());
  auto tree = read(bug, folder->path());
  if (!tree) return fail(tree.error());
  commit_ = name;
  commit_folder_.emplace(std::move(*folder));
  commit_tree_.emplace(std::move(*tree));
  return &*commit_tree_;
}

Result<BugTree> BugTrees::read(const BugCase& bug, const fs::path& folder) const {
  std::error_code error;
  if (!fs::is_directory(folder, error)) {
    return fail(ErrorCode::kNotFound, "there is no tree " + folder.string(),
                "bench/bug_trees.py fetches those of a set; --trees names their folder");
  }
  auto repository = daemon::Repository::open(folder, {});
  if (!repository) return fail(repository.error());
  if (!fs::equivalent((*repository)->root(), folder, error)) {
    return fail(ErrorCode::kInvalidArgument,
                folder.string() + " is part of the work tree " + (*repository)->root().string(),
                "keep the trees outside of any repository");
  }
  if (auto fresh = (*repository)->refresh({}); !fresh) return fail(fresh.error());
  BugTree tree;
  tree.repository = std::move(*repository);
  tree.wanted = cache::is_fixable;
  if (const auto listed = set_.candidates.find(bug.tree); listed != set_.candidates.end())
    tree.wanted = [&paths = listed->second](const std::string& path) { return paths.contains(path); };
  for (std::string& path : tree.repository->files()) {
    if (!tree.wanted(path)) continue;
    if (const auto text = tree.repository->read(path)) {
      tree.plain.add(static_cast<cache::DocumentId>(tree.files.size()), path, *text);
      tree.files.push_back(std::move(path));
    }
  }
  return tree;
}

}  // namespace kvboost::bench
