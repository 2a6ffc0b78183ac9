// SPDX-License-Identifier: Apache-2.0
#include "cache/track/git_repository.h"

#include <git2.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>

namespace kvboost::cache {
namespace {

std::string shell_quoted(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

// libgit2 1.5 answers "not found" where safe.directory is not set at all, so its error code does not tell.
bool belongs_to_another(const std::filesystem::path& path) {
  struct stat status = {};
  return ::stat(path.c_str(), &status) == 0 && status.st_uid != ::geteuid();
}

}  // namespace

void GitRepositoryCloser::operator()(git_repository* repository) const {
  git_repository_free(repository);
}

// libgit2 refuses repositories with an extension that it does not know; these ones change nothing about the
// index, HEAD, the objects and the ignore rules, which is all that is read here.
void start_libgit2() {
  static const bool started = [] {
    git_libgit2_init();
    std::array<const char*, 4> extensions = {"worktreeconfig", "partialclone", "preciousobjects",
                                             "relativeworktrees"};
    git_libgit2_opts(GIT_OPT_SET_EXTENSIONS, extensions.data(), extensions.size());
    return true;
  }();
  static_cast<void>(started);
}

std::string last_git_message() {
  const git_error* error = git_error_last();
  return error != nullptr && error->message != nullptr ? error->message : "unknown error";
}

GitRefusal git_refusal(const std::filesystem::path& root, const std::filesystem::path& git_dir) {
  if (belongs_to_another(root) || belongs_to_another(git_dir)) {
    return {"git does not trust this folder, since it belongs to another user",
            "to trust it: git config --global --add safe.directory " + shell_quoted(root.string())};
  }
  std::string reason = last_git_message();
  if (reason.find("objectformat") != std::string::npos) reason += ": its object names are sha256";
  return {"libgit2 cannot read this repository (" + reason + ")", {}};
}

}  // namespace kvboost::cache
