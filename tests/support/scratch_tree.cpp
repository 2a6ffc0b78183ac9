// SPDX-License-Identifier: Apache-2.0
#include "tests/support/scratch_tree.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <system_error>

namespace kvboost::test {
namespace {

// In the child: never returns.
[[noreturn]] void become_git(const std::filesystem::path& folder, const std::vector<std::string>& arguments,
                             int out) {
  ::dup2(out, STDOUT_FILENO);
  ::setenv("GIT_CONFIG_GLOBAL", "/dev/null", 1);
  ::setenv("GIT_CONFIG_SYSTEM", "/dev/null", 1);
  for (const char* name : {"AUTHOR", "COMMITTER"}) {
    ::setenv((std::string("GIT_") + name + "_NAME").c_str(), "Test", 1);
    ::setenv((std::string("GIT_") + name + "_EMAIL").c_str(), "test@localhost", 1);
  }
  for (const char* name : {"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"}) ::unsetenv(name);
  std::vector<std::string> words = {"git", "-c", "protocol.file.allow=always", "-c",
                                    "init.defaultBranch=main"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  if (::chdir(folder.c_str()) == 0) ::execvp("git", argv.data());
  ::_exit(127);
}

}  // namespace

ScratchTree::ScratchTree() {
  std::string name = (std::filesystem::temp_directory_path() / "kvboost-test-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
  root_ = std::filesystem::canonical(name);
}

ScratchTree::~ScratchTree() {
  std::error_code error;
  for (std::filesystem::recursive_directory_iterator
           at(root_, std::filesystem::directory_options::skip_permission_denied, error),
       end;
       !error && at != end; at.increment(error)) {
    if (at->is_directory(error) && !at->is_symlink(error)) {
      std::filesystem::permissions(at->path(), std::filesystem::perms::owner_all, error);
    }
  }
  std::filesystem::remove_all(root_, error);
}

void ScratchTree::write(std::string_view path, std::string_view content) const {
  const std::filesystem::path file = root_ / path;
  std::filesystem::create_directories(file.parent_path());
  std::ofstream out(file, std::ios::binary | std::ios::trunc);
  out << content;
  if (!out.flush()) throw std::runtime_error("cannot write " + file.string());
}

std::string ScratchTree::git(const std::vector<std::string>& arguments, std::string_view folder) const {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
  const pid_t child = ::fork();
  if (child == 0) become_git(root_ / folder, arguments, ends[1]);
  ::close(ends[1]);
  std::string printed;
  char buffer[4096];
  for (ssize_t n = 0; (n = ::read(ends[0], buffer, sizeof(buffer))) > 0;)
    printed.append(buffer, static_cast<std::size_t>(n));
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    ADD_FAILURE() << "git " << (arguments.empty() ? "" : arguments[0]) << " failed";
  }
  return printed;
}

void ScratchTree::commit(std::string_view message) const {
  git({"add", "--all"});
  git({"commit", "--quiet", "--allow-empty", "--message", std::string(message)});
}

}  // namespace kvboost::test
