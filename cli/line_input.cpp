// SPDX-License-Identifier: Apache-2.0
#include "cli/line_input.h"

#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace kvboost::cli {

std::optional<LineInput::Line> LineInput::next() {
  for (;;) {
    while (auto line = take_line()) {
      if (line->too_long || line->text.find_first_not_of(" \t\r") != std::string::npos) return line;
    }
    if (!read_some()) return std::nullopt;
  }
}

std::optional<LineInput::Line> LineInput::take_line() {
  const auto end = buffer_.find('\n', scanned_);
  if (end == std::string::npos) {
    scanned_ = buffer_.size();
    if (scanned_ > limit_) {
      skipping_ = true;
      buffer_.clear();
      scanned_ = 0;
    }
    return std::nullopt;
  }
  Line line{.too_long = skipping_ || end > limit_, .text = {}};
  if (!line.too_long) line.text = buffer_.substr(0, end);
  buffer_.erase(0, end + 1);
  scanned_ = 0;
  skipping_ = false;
  return line;
}

bool LineInput::read_some() {
  for (;;) {
    std::array<pollfd, 2> polls = {
        {{.fd = fd_, .events = POLLIN, .revents = 0}, {.fd = stopped_.fd(), .events = POLLIN, .revents = 0}}};
    if (::poll(polls.data(), polls.size(), -1) < 0) {
      if (errno == EINTR) continue;
      return false;
    }
    if (polls[1].revents != 0) return false;
    std::array<char, 64 * 1024> piece;
    const ssize_t count = ::read(fd_, piece.data(), piece.size());
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (count > 0) buffer_.append(piece.data(), static_cast<std::size_t>(count));
    return count > 0;
  }
}

}  // namespace kvboost::cli
