// SPDX-License-Identifier: Apache-2.0
#include "cache/track/history.h"

#include <git2.h>

#include <algorithm>
#include <fstream>
#include <memory>
#include <utility>

#include "cache/track/git_handle.h"
#include "cache/track/git_repository.h"

namespace kvboost::cache {
namespace {

namespace fs = std::filesystem;

using Commit = GitHandle<git_commit, git_commit_free>;
using Tree = GitHandle<git_tree, git_tree_free>;
using Diff = GitHandle<git_diff, git_diff_free>;
using Blob = GitHandle<git_blob, git_blob_free>;

std::unexpected<Error> git_failed(const std::string& what) {
  return fail(ErrorCode::kInvalidArgument, what + ": " + last_git_message());
}

Result<GitRepositoryHandle> open(const fs::path& repository) {
  start_libgit2();
  git_repository* opened = nullptr;
  if (git_repository_open_ext(&opened, repository.c_str(), 0, nullptr) != 0)
    return git_failed("cannot open the repository " + repository.string());
  return GitRepositoryHandle(opened);
}

std::string text_of(const git_oid& id) {
  char text[GIT_OID_HEXSZ + 1];
  return git_oid_tostr(text, sizeof text, &id);
}

/// Nothing for a commit that has not exactly one parent.
Result<bool> change_of(git_repository* repository, const git_oid& id, CommitChange& change) {
  git_commit* found = nullptr;
  if (git_commit_lookup(&found, repository, &id) != 0) return git_failed("cannot read a commit");
  const Commit commit(found);
  if (git_commit_parentcount(found) != 1) return false;
  git_commit* before = nullptr;
  if (git_commit_parent(&before, found, 0) != 0) return false;  // the end of a shallow clone
  const Commit parent(before);
  git_tree *old_tree = nullptr, *new_tree = nullptr;
  const int old_code = git_commit_tree(&old_tree, before);
  const Tree old_holder(old_tree);
  const int new_code = git_commit_tree(&new_tree, found);
  const Tree new_holder(new_tree);
  git_diff* made = nullptr;
  if (old_code != 0 || new_code != 0 ||
      git_diff_tree_to_tree(&made, repository, old_tree, new_tree, nullptr) != 0) {
    return git_failed("cannot compare commit " + text_of(id) + " with its parent");
  }
  const Diff diff(made);
  const char* message = git_commit_message(found);
  change = {text_of(id), text_of(*git_commit_id(before)), message != nullptr ? message : "", {}, 0};
  for (std::size_t i = 0; i < git_diff_num_deltas(made); ++i) {
    const git_diff_delta& delta = *git_diff_get_delta(made, i);
    if (delta.status == GIT_DELTA_MODIFIED) {
      change.modified.emplace_back(delta.new_file.path);
    } else {
      ++change.others;
    }
  }
  return true;
}

struct Writing {
  git_repository* repository;
  const fs::path& folder;
  std::string problem{};
};

bool write_file(const Writing& writing, const fs::path& path, const git_oid& id) {
  git_blob* found = nullptr;
  if (git_blob_lookup(&found, writing.repository, &id) != 0) return false;
  const Blob blob(found);
  std::error_code error;
  fs::create_directories(path.parent_path(), error);
  std::ofstream out(path, std::ios::binary);
  out.write(static_cast<const char*>(git_blob_rawcontent(found)),
            static_cast<std::streamsize>(git_blob_rawsize(found)));
  return static_cast<bool>(out.flush());
}

// Names in a tree may be anything: none may lead out of the folder.
bool is_safe(const fs::path& path) {
  return path.is_relative() && std::ranges::none_of(path, [](const fs::path& part) { return part == ".."; });
}

int write_entry(const char* root, const git_tree_entry* entry, void* payload) {
  auto& writing = *static_cast<Writing*>(payload);
  const git_filemode_t mode = git_tree_entry_filemode(entry);
  if (mode != GIT_FILEMODE_BLOB && mode != GIT_FILEMODE_BLOB_EXECUTABLE) return 0;
  const fs::path path = fs::path(root) / git_tree_entry_name(entry);
  if (!is_safe(path) || write_file(writing, writing.folder / path, *git_tree_entry_id(entry))) return 0;
  writing.problem = "cannot write " + (writing.folder / path).string();
  return -1;
}

}  // namespace

Result<void> walk_history(const fs::path& repository, const std::function<bool(const CommitChange&)>& visit) {
  const auto opened = open(repository);
  if (!opened) return fail(opened.error());
  git_revwalk* made = nullptr;
  if (git_revwalk_new(&made, opened->get()) != 0) return git_failed("cannot walk the history");
  const GitHandle<git_revwalk, git_revwalk_free> walk(made);
  git_revwalk_sorting(made, GIT_SORT_TOPOLOGICAL | GIT_SORT_TIME);
  if (git_revwalk_push_head(made) != 0) return git_failed("there is no commit to begin with");
  git_oid id;
  while (git_revwalk_next(&id, made) == 0) {
    CommitChange change;
    const auto single = change_of(opened->get(), id, change);
    if (!single) return fail(single.error());
    if (*single && !visit(change)) break;
  }
  return {};
}

Result<void> write_tree(const fs::path& repository, const std::string& revision, const fs::path& folder) {
  const auto opened = open(repository);
  if (!opened) return fail(opened.error());
  git_object* found = nullptr;
  if (git_revparse_single(&found, opened->get(), (revision + "^{tree}").c_str()) != 0)
    return git_failed("there is no revision '" + revision + "' in " + repository.string());
  const GitHandle<git_object, git_object_free> tree(found);
  Writing writing{opened->get(), folder};
  if (git_tree_walk(reinterpret_cast<git_tree*>(found), GIT_TREEWALK_PRE, write_entry, &writing) != 0) {
    return fail(ErrorCode::kIo,
                writing.problem.empty() ? "cannot read a tree: " + last_git_message() : writing.problem);
  }
  return {};
}

}  // namespace kvboost::cache
