// SPDX-License-Identifier: Apache-2.0
#include "cache/track/git_rules.h"

#include <git2.h>
#include <git2/sys/repository.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <vector>

#include "cache/track/git_handle.h"
#include "cache/track/git_repository.h"

namespace kvboost::cache {
namespace {

using IndexHandle = GitHandle<git_index, git_index_free>;
using ReferenceHandle = GitHandle<git_reference, git_reference_free>;

std::string refusal(const std::filesystem::path& root, const std::filesystem::path& git_dir) {
  const GitRefusal refusal = git_refusal(root, git_dir);
  const std::string remedy = refusal.remedy.empty() ? "" : " (" + refusal.remedy + ")";
  return refusal.reason + ", so its files are listed without git" + remedy;
}

// Whether `dot_git` is the link of a worktree or submodule, or has a repository's first file.
bool looks_like_repository(const std::filesystem::path& dot_git) {
  struct stat status = {};
  if (::stat(dot_git.c_str(), &status) != 0) return false;
  return S_ISREG(status.st_mode) || ::lstat((dot_git / "HEAD").c_str(), &status) == 0;
}

// The nearest folder with a repository: where the work tree begins when libgit2 refuses to say.
std::optional<std::filesystem::path> nearest_repository(std::filesystem::path folder) {
  while (true) {
    if (looks_like_repository(folder / ".git")) return folder;
    if (!folder.has_relative_path()) return std::nullopt;
    folder = folder.parent_path();
  }
}

// A repository without a place on disk: only a carrier for ignore rules.
GitRepositoryHandle new_rules_carrier() {
  git_repository* carrier = nullptr;
  if (git_repository_new(&carrier) != 0) carrier = nullptr;
  return GitRepositoryHandle(carrier);
}

bool is_ignored(git_repository* repository, const std::string& path) {
  int ignored = 0;
  return repository != nullptr && git_ignore_path_is_ignored(&ignored, repository, path.c_str()) == 0 &&
         ignored == 1;
}

}  // namespace

Result<FoundRepository> find_repository(const std::filesystem::path& directory) {
  start_libgit2();
  git_repository* opened = nullptr;
  const int code = git_repository_open_ext(&opened, directory.c_str(), 0, nullptr);
  const GitRepositoryHandle repository(opened);
  if (code == 0) {
    const char* root = git_repository_workdir(opened);
    if (root == nullptr) {
      return fail(ErrorCode::kInvalidArgument,
                  directory.string() + " is in a bare repository, which has no files to read",
                  "go to a work tree of it (git worktree add)");
    }
    return FoundRepository{std::filesystem::path(root).parent_path(), git_repository_path(opened)};
  }
  if (const auto refused = nearest_repository(directory)) return FoundRepository{*refused, *refused / ".git"};
  return FoundRepository{directory, {}};
}

struct GitRules::Impl {
  GitRepositoryHandle repository;         // the real one, or a carrier for the work tree's .gitignore files
  IndexHandle index;                      // owns the texts of the views below
  std::vector<std::string_view> tracked;  // sorted
  std::vector<std::string_view> submodules;  // sorted
  bool is_repository = false;
  std::string head;
  std::string branch;
  std::string note;

  bool read_index() {
    git_index* opened = nullptr;
    if (git_repository_index(&opened, repository.get()) != 0) return false;
    index.reset(opened);
    const std::size_t n = git_index_entrycount(opened);
    tracked.reserve(n);
    for (std::size_t i = 0; i < n; ++i) {
      const git_index_entry* entry = git_index_get_byindex(opened, i);
      (entry->mode == GIT_FILEMODE_COMMIT ? submodules : tracked).emplace_back(entry->path);
    }
    std::ranges::sort(tracked);
    std::ranges::sort(submodules);
    return true;
  }

  void read_head() {
    git_reference* found = nullptr;
    if (git_reference_lookup(&found, repository.get(), "HEAD") != 0) return;
    const ReferenceHandle reference(found);
    if (const char* target = git_reference_symbolic_target(found)) {
      branch = std::string_view(target).starts_with("refs/heads/") ? target + 11 : target;
    }
    git_oid id;
    if (git_reference_name_to_id(&id, repository.get(), "HEAD") != 0) return;  // no commit yet
    std::array<char, GIT_OID_HEXSZ + 1> hex{};
    head = git_oid_tostr(hex.data(), hex.size(), &id);
  }

  void do_without_git(const std::filesystem::path& root) {
    index.reset();
    tracked.clear();
    submodules.clear();
    repository = new_rules_carrier();
    if (repository && git_repository_set_workdir(repository.get(), root.c_str(), 0) != 0) repository.reset();
  }
};

GitRules GitRules::open(const std::filesystem::path& root, const std::filesystem::path& git_dir) {
  start_libgit2();
  auto impl = std::make_unique<Impl>();
  if (git_dir.empty()) {
    impl->note = "no git repository: all files are listed that .gitignore files let through";
    impl->do_without_git(root);
    return GitRules(std::move(impl));
  }
  git_repository* opened = nullptr;
  const int code = git_repository_open(&opened, git_dir.c_str());
  impl->repository.reset(opened);
  if (code == 0 && impl->read_index()) {
    impl->is_repository = true;
    impl->read_head();
  } else {
    impl->note = refusal(root, git_dir);
    impl->do_without_git(root);
  }
  return GitRules(std::move(impl));
}

GitRules::GitRules(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
GitRules::GitRules(GitRules&&) noexcept = default;
GitRules& GitRules::operator=(GitRules&&) noexcept = default;
GitRules::~GitRules() = default;

bool GitRules::is_repository() const {
  return impl_->is_repository;
}
const std::string& GitRules::head() const {
  return impl_->head;
}
const std::string& GitRules::branch() const {
  return impl_->branch;
}
const std::string& GitRules::note() const {
  return impl_->note;
}

bool GitRules::tracks(const std::string& path) const {
  return std::ranges::binary_search(impl_->tracked, path);
}

bool GitRules::tracks_below(const std::string& folder) const {
  for (const auto* paths : {&impl_->tracked, &impl_->submodules}) {
    const auto at = std::ranges::lower_bound(*paths, std::string_view(folder));
    if (at != paths->end() && at->starts_with(folder)) return true;
  }
  return false;
}

bool GitRules::is_submodule(const std::string& path) const {
  return std::ranges::binary_search(impl_->submodules, path);
}

bool GitRules::ignores(const std::string& path) const {
  return is_ignored(impl_->repository.get(), path);
}

struct IgnoreRules::Impl {
  GitRepositoryHandle carrier;
};

IgnoreRules::IgnoreRules(const std::string& rules) : impl_(std::make_unique<Impl>()) {
  if (rules.empty()) return;
  start_libgit2();
  impl_->carrier = new_rules_carrier();
  // The first two rules decide about every path that no later rule names, so that the user's
  // core.excludesFile, which libgit2 would ask next, has no say.
  const std::string all = "*\n!*\n" + rules + "\n";
  if (impl_->carrier && git_ignore_add_rule(impl_->carrier.get(), all.c_str()) != 0) impl_->carrier.reset();
}

IgnoreRules::IgnoreRules(IgnoreRules&&) noexcept = default;
IgnoreRules& IgnoreRules::operator=(IgnoreRules&&) noexcept = default;
IgnoreRules::~IgnoreRules() = default;

bool IgnoreRules::ignores(const std::string& path) const {
  return is_ignored(impl_->carrier.get(), path);
}

}  // namespace kvboost::cache
