// SPDX-License-Identifier: Apache-2.0
// StopEvent: a stop_token as a file descriptor that becomes readable, so that poll wakes up. One thread waits
// on it; any thread may request the stop.
#pragma once

#include <sys/eventfd.h>

#include <stop_token>
#include <utility>

#include "base/file_descriptor.h"

namespace kvboost::cli {

class StopEvent {
 public:
  explicit StopEvent(std::stop_token stop)
      : event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)), callback_(std::move(stop), Raise{event_.get()}) {}

  [[nodiscard]] int fd() const { return event_.get(); }

 private:
  struct Raise {
    int fd;
    void operator()() const { ::eventfd_write(fd, 1); }
  };

  FileDescriptor event_;
  std::stop_callback<Raise> callback_;
};

}  // namespace kvboost::cli
