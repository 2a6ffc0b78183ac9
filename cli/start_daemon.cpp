// SPDX-License-Identifier: Apache-2.0
#include "cli/start_daemon.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <optional>
#include <string_view>

#include "base/daemon_files.h"
#include "base/file_descriptor.h"
#include "cli/stop_event.h"

namespace kvboost::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kName = "kvboostd";
constexpr std::size_t kMaxLastWords = 64 * 1024;

bool is_program(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path, error) && ::access(path.c_str(), X_OK) == 0;
}

std::optional<fs::path> find_in_path() {
  const char* text = std::getenv("PATH");
  std::string_view rest = text == nullptr ? "" : text;
  while (!rest.empty()) {
    const auto colon = rest.find(':');
    const fs::path dir = rest.substr(0, colon);
    if (dir.is_absolute() && is_program(dir / kName)) return dir / kName;
    if (colon == std::string_view::npos) break;
    rest.remove_prefix(colon + 1);
  }
  return std::nullopt;
}

struct SpawnSettings {
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;

  explicit SpawnSettings(int stderr_fd) {
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_adddup2(&files, stderr_fd, STDERR_FILENO);
    posix_spawn_file_actions_addclosefrom_np(&files, STDERR_FILENO + 1);
    sigset_t none;
    sigset_t all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setflags(&attributes,
                             POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  }
  SpawnSettings(const SpawnSettings&) = delete;
  SpawnSettings& operator=(const SpawnSettings&) = delete;
  ~SpawnSettings() {
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
  }
};

Result<pid_t> spawn(const fs::path& program, const std::vector<std::string>& flags, int stderr_fd) {
  const SpawnSettings settings(stderr_fd);
  std::vector<std::string> words = {program.string()};
  words.insert(words.end(), flags.begin(), flags.end());
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  pid_t child = 0;
  const int error = ::posix_spawn(&child, program.c_str(), &settings.files, &settings.attributes,
                                  arguments.data(), environ);
  if (error != 0) return fail_errno("cannot run " + program.string(), error);
  return child;
}

/// What comes through the pipe until all its writers have gone; nothing on stop.
std::optional<std::string> read_until_closed(int fd, std::stop_token stop) {
  const StopEvent stopped(std::move(stop));
  std::string text;
  for (;;) {
    std::array<pollfd, 2> polls = {
        {{.fd = fd, .events = POLLIN, .revents = 0}, {.fd = stopped.fd(), .events = POLLIN, .revents = 0}}};
    if (::poll(polls.data(), polls.size(), -1) < 0) continue;
    if (polls[1].revents != 0) return std::nullopt;
    std::array<char, 4096> piece;
    const ssize_t count = ::read(fd, piece.data(), piece.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return text;
    if (text.size() < kMaxLastWords) text.append(piece.data(), static_cast<std::size_t>(count));
  }
}

/// The daemon says "kvboostd: reason", then indented lines with remedy and log.
Error start_error(std::string_view words, int status) {
  if (words.starts_with("kvboostd: ")) words.remove_prefix(sizeof "kvboostd: " - 1);
  while (words.ends_with('\n')) words.remove_suffix(1);
  const bool model = WIFEXITED(status) && WEXITSTATUS(status) == kModelRefused;
  Error error{ErrorCode::kIo, "the daemon could not start: ", ""};
  if (model) error = {ErrorCode::kModel, "", ""};
  const auto end = words.find('\n');
  error.message += words.substr(0, end);
  if (words.empty()) {
    error.message += WIFSIGNALED(status) ? "it was ended by signal " + std::to_string(WTERMSIG(status))
                                         : "exit status " + std::to_string(WEXITSTATUS(status));
  }
  if (end == std::string_view::npos) return error;
  words.remove_prefix(end + 1);
  for (const char letter : words) {
    if (letter != ' ' || (!error.remedy.empty() && error.remedy.back() != '\n')) error.remedy += letter;
  }
  return error;
}

}  // namespace

fs::path program_dir() {
  std::error_code error;
  return fs::read_symlink("/proc/self/exe", error).parent_path();
}

Result<fs::path> find_daemon(const fs::path& here) {
  for (const fs::path& dir : {here, here.parent_path() / "libexec/kvboost"}) {
    if (!here.empty() && is_program(dir / kName)) return dir / kName;
  }
  if (auto found = find_in_path()) return *found;
  return fail(ErrorCode::kNotFound,
              "kvboostd is neither in " + here.string() + " nor in ../libexec/kvboost beside it nor in PATH",
              "install kvboost with its daemon");
}

Result<void> start_daemon(const fs::path& program, const std::vector<std::string>& flags,
                          std::stop_token stop) {
  std::array<int, 2> ends;
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return fail_errno("cannot make a pipe", errno);
  const FileDescriptor reading(ends[0]);
  FileDescriptor writing(ends[1]);
  const auto child = spawn(program, flags, writing.get());
  if (!child) return fail(child.error());
  writing.close();
  const auto words = read_until_closed(reading.get(), std::move(stop));
  if (!words) return fail(ErrorCode::kCancelled, "cancelled");
  int status = 0;
  while (::waitpid(*child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
  return fail(start_error(*words, status));
}

}  // namespace kvboost::cli
