// SPDX-License-Identifier: Apache-2.0
#include "daemon/net/daemonise.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <string>

namespace kvboost::daemon {
namespace {

constexpr char kReady = 'r';  // alone; anything else on the pipe is the text of a failure

std::string failure_text(const Error& error, const std::filesystem::path& log_file) {
  std::string text = "kvboostd: " + error.message + "\n";
  if (!error.remedy.empty()) text += "  " + error.remedy + "\n";
  if (!log_file.empty()) text += "  log: " + log_file.string() + "\n";
  return text;
}

void write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = ::write(fd, text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return;  // nobody listens any more
    text.remove_prefix(static_cast<std::size_t>(count));
  }
}

std::string read_all(int fd) {
  std::string text;
  std::array<char, 4096> piece;
  for (;;) {
    const ssize_t count = ::read(fd, piece.data(), piece.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return text;
    text.append(piece.data(), static_cast<std::size_t>(count));
  }
}

/// What a child that said nothing died of.
std::string last_words(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  const std::string how = WIFSIGNALED(status) ? "signal " + std::to_string(WTERMSIG(status))
                                              : "exit status " + std::to_string(WEXITSTATUS(status));
  return "kvboostd: the daemon ended while it started: " + how + "\n";
}

/// The parent's part. Ends by _exit: it shares stdio buffers and exit handlers with the child.
[[noreturn]] void wait_for_report(int pipe, pid_t child) {
  std::string text = read_all(pipe);
  if (text == std::string_view(&kReady, 1)) ::_exit(0);
  if (text.empty()) text = last_words(child);
  write_all(STDERR_FILENO, text);
  ::_exit(1);
}

/// Else a pipe's end might get the number of a standard stream that is closed, and be overwritten with it.
void fill_standard_streams() {
  int fd = 0;
  do {
    fd = ::open("/dev/null", O_RDWR);
  } while (fd >= 0 && fd <= STDERR_FILENO);
  if (fd >= 0) ::close(fd);
}

/// Closes everything but stdin, stdout, stderr (which become /dev/null) and `keep`.
void close_inherited_files(int keep) {
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  for (const int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (null >= 0) ::dup2(null, standard);
  }
  if (keep > STDERR_FILENO + 1) ::close_range(STDERR_FILENO + 1, static_cast<unsigned>(keep) - 1, 0);
  ::close_range(static_cast<unsigned>(keep) + 1, ~0U, 0);
}

}  // namespace

void StartReport::ready() {
  if (!pipe_.is_open()) return;
  write_all(pipe_.get(), {&kReady, 1});
  pipe_.close();
}

int StartReport::failed(const Error& error, const std::filesystem::path& log_file) {
  write_all(pipe_.is_open() ? pipe_.get() : STDERR_FILENO, failure_text(error, log_file));
  pipe_.close();
  return 1;
}

Result<StartReport> daemonise() {
  fill_standard_streams();
  std::array<int, 2> ends;
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return fail_errno("cannot make a pipe", errno);
  FileDescriptor reading(ends[0]);
  FileDescriptor writing(ends[1]);
  std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child < 0) return fail_errno("cannot fork", errno);
  if (child > 0) {
    writing.close();
    wait_for_report(reading.get(), child);
  }
  ::setsid();
  if (::chdir("/") != 0) return fail_errno("cannot go to /", errno);
  ::umask(077);
  ::signal(SIGHUP, SIG_IGN);
  ::signal(SIGPIPE, SIG_IGN);
  reading.close();
  close_inherited_files(writing.get());
  return StartReport(std::move(writing));
}

}  // namespace kvboost::daemon
