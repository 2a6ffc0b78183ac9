// SPDX-License-Identifier: Apache-2.0
// LineInput: lines from a descriptor that another program writes to. A line that is too long is passed over,
// and told of; what comes behind it is read as ever. One thread.
#pragma once

#include <cstddef>
#include <optional>
#include <stop_token>
#include <string>

#include "cli/stop_event.h"

namespace kvboost::cli {

class LineInput {
 public:
  /// `fd` is borrowed; lines of more than `limit` bytes are too long.
  LineInput(int fd, std::size_t limit, std::stop_token stop)
      : fd_(fd), limit_(limit), stopped_(std::move(stop)) {}

  struct Line {
    bool too_long = false;
    std::string text;  // without its end; empty if it was too long
  };
  /// Waits for the next line that is not blank. Nothing: the end of the input, or told to stop.
  [[nodiscard]] std::optional<Line> next();

 private:
  /// False at the end.
  bool read_some();
  [[nodiscard]] std::optional<Line> take_line();

  const int fd_;
  const std::size_t limit_;
  const StopEvent stopped_;
  std::string buffer_;
  std::size_t scanned_ = 0;  // no newline before here
  bool skipping_ = false;    // in a line that is too long
};

}  // namespace kvboost::cli
