// SPDX-License-Identifier: Apache-2.0
// Interrupt: turns Ctrl-C (and SIGTERM, SIGHUP) into a stop_token while it lives, so that a request is
// cancelled in the daemon too. A second Ctrl-C ends the process at once. One at a time; made and destroyed by
// the main thread, stop callbacks run on a thread of its own.
#pragma once

#include <stop_token>
#include <thread>

namespace kvboost::cli {

class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  [[nodiscard]] std::stop_token token() const { return source_.get_token(); }
  [[nodiscard]] bool requested() const { return source_.stop_requested(); }
  /// As if Ctrl-C had been pressed: the reader of our output has gone.
  void request() { source_.request_stop(); }

 private:
  void wait_for_signals();

  std::stop_source source_;
  std::thread thread_;
};

}  // namespace kvboost::cli
