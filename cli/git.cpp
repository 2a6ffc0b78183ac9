// SPDX-License-Identifier: Apache-2.0
#include "cli/git.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <optional>

#include "base/file_descriptor.h"

namespace kvboost::cli {
namespace {

namespace fs = std::filesystem;

constexpr int kNoSuchProgram = 127;

/// Everything that was written to a file in memory.
std::string content(int fd) {
  std::string text;
  std::array<char, 4096> piece;
  for (;;) {
    const ssize_t count = ::pread(fd, piece.data(), piece.size(), static_cast<off_t>(text.size()));
    if (count <= 0) return text;
    text.append(piece.data(), static_cast<std::size_t>(count));
  }
}

/// The exit status; its output goes to the two descriptors.
Result<int> run_git(std::vector<std::string> words, int out, int err) {
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&files, out, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&files, err, STDERR_FILENO);
  pid_t child = 0;
  const int failure = ::posix_spawnp(&child, argv[0], &files, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&files);
  if (failure == ENOENT) return kNoSuchProgram;
  if (failure != 0) return fail_errno("cannot start git", failure);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

/// "fatal: not a git repository …" without the first word and what follows in further lines.
std::string reason(std::string_view words) {
  constexpr std::string_view kFatal = "fatal: ";
  words = words.substr(0, words.find('\n'));
  if (words.starts_with(kFatal)) words.remove_prefix(kFatal.size());
  return words.empty() ? "git failed" : std::string(words);
}

}  // namespace

Result<std::string> git(const fs::path& directory, const std::vector<std::string>& arguments) {
  const FileDescriptor out(::memfd_create("git-out", MFD_CLOEXEC));
  const FileDescriptor err(::memfd_create("git-err", MFD_CLOEXEC));
  if (!out.is_open() || !err.is_open()) return fail_errno("cannot run git", errno);
  std::vector<std::string> words = {"git", "-C", directory.string()};
  words.insert(words.end(), arguments.begin(), arguments.end());
  const auto status = run_git(std::move(words), out.get(), err.get());
  if (!status) return fail(status.error());
  if (*status == kNoSuchProgram) return fail(ErrorCode::kNotFound, "git is not installed");
  if (*status != 0) return fail(ErrorCode::kInvalidArgument, reason(content(err.get())));
  std::string text = content(out.get());
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

Result<HookPlace> find_hooks(const fs::path& directory) {
  const auto bare = git(directory, {"rev-parse", "--is-bare-repository"});
  if (!bare) return fail(bare.error());
  if (*bare == "true") {
    return fail(ErrorCode::kInvalidArgument, "this is a bare repository: there are no files to read ahead",
                "run it in a work tree");
  }
  const auto top = git(directory, {"rev-parse", "--show-toplevel"});
  if (!top) return fail(top.error());
  const auto hooks = git(*top, {"rev-parse", "--git-path", "hooks"});
  if (!hooks) return fail(hooks.error());
  const auto common = git(*top, {"rev-parse", "--git-common-dir"});
  if (!common) return fail(common.error());
  HookPlace place{.work_tree = *top, .hooks = (fs::path(*top) / *hooks).lexically_normal()};
  place.configured = place.hooks != (fs::path(*top) / *common / "hooks").lexically_normal();
  return place;
}

}  // namespace kvboost::cli
