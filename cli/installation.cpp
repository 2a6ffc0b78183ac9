// SPDX-License-Identifier: Apache-2.0
#include "cli/installation.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <vector>

namespace kvboost::cli {
namespace {

using namespace std::chrono_literals;

constexpr auto kPatience = 10s;

/// A running child and the reading end of what it writes; whatever happens, both are gone at the end.
class Child {
 public:
  Child() = default;
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    if (output_ >= 0) ::close(output_);
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    (void)wait();
  }

  Result<void> start(std::vector<std::string> words) {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) return fail_errno("cannot start " + words[0], errno);
    output_ = ends[0];
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    const int error = ::posix_spawn(&pid_, argv[0], &actions, nullptr, argv.data(), environ);
    ::posix_spawn_file_actions_destroy(&actions);
    ::close(ends[1]);
    if (error != 0) pid_ = 0;
    return error == 0 ? Result<void>() : fail_errno("cannot start " + words[0], error);
  }

  /// All that it writes; false if it is still at it when patience ends.
  bool read(std::string& text) const {
    const auto end = std::chrono::steady_clock::now() + kPatience;
    std::array<char, 4096> buffer;
    while (true) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
      pollfd ready = {output_, POLLIN, 0};
      if (left <= 0ms || ::poll(&ready, 1, static_cast<int>(left.count())) == 0) return false;
      const ssize_t count = ::read(output_, buffer.data(), buffer.size());
      if (count == 0) return true;
      if (count > 0) text.append(buffer.data(), static_cast<std::size_t>(count));
      if (count < 0 && errno != EINTR) return true;
    }
  }

  /// The exit status, as waitpid tells it.
  int wait() {
    int status = 0;
    while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    pid_ = 0;
    return status;
  }

 private:
  pid_t pid_ = 0;
  int output_ = -1;
};

std::string last_line(std::string text) {
  text.erase(text.find_last_not_of(" \n") + 1);
  return text.substr(text.rfind('\n') + 1);
}

}  // namespace

Result<std::string> run_program(const std::filesystem::path& program, const std::string& argument) {
  Child child;
  if (auto started = child.start({program.string(), argument}); !started) return fail(started.error());
  std::string text;
  if (!child.read(text)) return fail(ErrorCode::kIo, program.string() + " does not answer");
  const int status = child.wait();
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return text;
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGILL) {
    return fail(ErrorCode::kIo, program.string() + " uses an instruction that this CPU does not have",
                "use a build for older CPUs, or another machine");
  }
  const std::string how = WIFSIGNALED(status) ? std::string("was ended by ") + ::strsignal(WTERMSIG(status))
                                              : "exits with " + std::to_string(WEXITSTATUS(status));
  return fail(ErrorCode::kIo, program.string() + " " + how + ": " + last_line(std::move(text)));
}

Result<std::filesystem::path> find_program(std::string_view name) {
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return fail_errno("cannot tell where kvboost is installed", error.value());
  const auto folder = self.parent_path();
  for (const auto& file : std::array{folder / name, folder.parent_path() / "libexec" / "kvboost" / name}) {
    if (::access(file.c_str(), X_OK) == 0) return file;
  }
  return fail(ErrorCode::kNotFound, std::string(name) + " is not installed beside " + self.string(),
              "install or build kvboost again, all of it");
}

}  // namespace kvboost::cli
