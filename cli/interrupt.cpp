// SPDX-License-Identifier: Apache-2.0
#include "cli/interrupt.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>

#include "cli/exit_code.h"

namespace kvboost::cli {
namespace {

constexpr std::array<int, 3> kSignals = {SIGINT, SIGTERM, SIGHUP};
constexpr char kSignalled = 's';
constexpr char kEnd = 'e';

std::array<int, 2> pipe_ends = {-1, -1};
volatile std::sig_atomic_t signals_seen = 0;

// Async-signal-safe: a handler may do no more than this.
void on_signal(int) {
  const int saved = errno;
  signals_seen = signals_seen + 1;
  if (signals_seen > 1) ::_exit(kExitCancelled);
  (void)!::write(pipe_ends[1], &kSignalled, 1);
  errno = saved;
}

void set_handlers(void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  for (const int signal : kSignals) ::sigaction(signal, &action, nullptr);
}

}  // namespace

Interrupt::Interrupt() {
  signals_seen = 0;
  if (::pipe2(pipe_ends.data(), O_CLOEXEC) != 0) return;  // then Ctrl-C ends us the plain way
  thread_ = std::thread([this] { wait_for_signals(); });
  set_handlers(on_signal);
}

Interrupt::~Interrupt() {
  if (!thread_.joinable()) return;
  set_handlers(SIG_DFL);
  (void)!::write(pipe_ends[1], &kEnd, 1);
  thread_.join();
  for (int& end : pipe_ends) {
    ::close(end);
    end = -1;
  }
}

void Interrupt::wait_for_signals() {
  char what = 0;
  while (true) {
    const ssize_t count = ::read(pipe_ends[0], &what, 1);
    if (count < 0 && errno == EINTR) continue;
    if (count != 1 || what == kEnd) return;
    source_.request_stop();
  }
}

}  // namespace kvboost::cli
