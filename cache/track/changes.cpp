// SPDX-License-Identifier: Apache-2.0
#include "cache/track/changes.h"

#include <git2.h>

#include <algorithm>

#include "cache/track/git_handle.h"
#include "cache/track/git_repository.h"
#include "cache/track/git_rules.h"

namespace kvboost::cache {
namespace {

using ObjectHandle = GitHandle<git_object, git_object_free>;
using DiffHandle = GitHandle<git_diff, git_diff_free>;

constexpr const char* kHead = "HEAD";

Result<GitRepositoryHandle> open_repository(const std::filesystem::path& root) {
  start_libgit2();
  const auto found = find_repository(root);
  if (!found) return fail(found.error());
  constexpr const char* kRemedy = "name files or folders instead";
  if (found->git_dir.empty()) {
    return fail(ErrorCode::kInvalidArgument,
                root.string() + " is no git repository, so nothing tells what has changed", kRemedy);
  }
  git_repository* opened = nullptr;
  if (git_repository_open(&opened, found->git_dir.c_str()) != 0) {
    const GitRefusal refusal = git_refusal(found->root, found->git_dir);
    return fail(ErrorCode::kInvalidArgument, refusal.reason + ", so it cannot tell what has changed",
                refusal.remedy.empty() ? kRemedy : refusal.remedy);
  }
  return GitRepositoryHandle(opened);
}

std::unexpected<Error> no_revision(const std::string& revision, int code) {
  if (code == GIT_EAMBIGUOUS) {
    return fail(ErrorCode::kInvalidArgument, "there are several revisions that '" + revision + "' could mean",
                "write more of its name");
  }
  return fail(ErrorCode::kInvalidArgument, "there is no revision '" + revision + "' in this repository",
              "name a commit, a branch or a tag; `git log --oneline` shows commits");
}

/// The tree of a revision.
Result<ObjectHandle> tree_of(git_repository* repository, const std::string& revision) {
  git_object* found = nullptr;
  if (const int code = git_revparse_single(&found, repository, revision.c_str()); code != 0) {
    return no_revision(revision, code);
  }
  const ObjectHandle object(found);
  git_object* tree = nullptr;
  if (git_object_peel(&tree, found, GIT_OBJECT_TREE) == 0) return ObjectHandle(tree);
  if (git_object_type(found) == GIT_OBJECT_BLOB) {
    return fail(ErrorCode::kInvalidArgument, "'" + revision + "' is a file, not a commit");
  }
  return fail(ErrorCode::kIo, "cannot read revision '" + revision + "': " + last_git_message(),
              "in a shallow or partial clone, fetch it first");
}

int go_on_unless_stopped(const git_diff* /*so_far*/, const char* /*old_path*/, const char* /*new_path*/,
                         void* stop) {
  return static_cast<const std::stop_token*>(stop)->stop_requested() ? GIT_EUSER : 0;
}

/// `tree` may be null: nothing is there yet.
Result<std::vector<std::string>> compare(git_repository* repository, git_object* tree,
                                         const std::stop_token& stop) {
  git_diff_options options;
  git_diff_options_init(&options, GIT_DIFF_OPTIONS_VERSION);
  options.flags = GIT_DIFF_INCLUDE_UNTRACKED | GIT_DIFF_RECURSE_UNTRACKED_DIRS | GIT_DIFF_INCLUDE_TYPECHANGE;
  options.progress_cb = go_on_unless_stopped;
  options.payload = const_cast<std::stop_token*>(&stop);
  git_diff* made = nullptr;
  const int code =
      git_diff_tree_to_workdir_with_index(&made, repository, reinterpret_cast<git_tree*>(tree), &options);
  const DiffHandle diff(made);
  if (stop.stop_requested()) return fail(ErrorCode::kCancelled, "cancelled while comparing files");
  if (code != 0) return fail(ErrorCode::kIo, "cannot compare the work tree: " + last_git_message());
  std::vector<std::string> paths;
  for (std::size_t i = 0; i < git_diff_num_deltas(made); ++i) {
    const git_diff_delta& delta = *git_diff_get_delta(made, i);
    if (delta.status == GIT_DELTA_DELETED) continue;
    std::string path = delta.new_file.path;
    if (delta.new_file.mode == GIT_FILEMODE_COMMIT && !path.ends_with('/')) path += '/';
    paths.push_back(std::move(path));
  }
  std::ranges::sort(paths);
  paths.erase(std::unique(paths.begin(), paths.end()), paths.end());
  return paths;
}

}  // namespace

Result<std::vector<std::string>> changed_since_head(const std::filesystem::path& root,
                                                    const std::stop_token& stop) {
  const auto repository = open_repository(root);
  if (!repository) return fail(repository.error());
  if (git_repository_head_unborn(repository->get()) == 1) return compare(repository->get(), nullptr, stop);
  const auto tree = tree_of(repository->get(), kHead);
  if (!tree) return fail(tree.error());
  return compare(repository->get(), tree->get(), stop);
}

Result<std::vector<std::string>> changed_since(const std::filesystem::path& root, const std::string& revision,
                                               const std::stop_token& stop) {
  const auto repository = open_repository(root);
  if (!repository) return fail(repository.error());
  const auto tree = tree_of(repository->get(), revision);
  if (!tree) return fail(tree.error());
  return compare(repository->get(), tree->get(), stop);
}

}  // namespace kvboost::cache
