// SPDX-License-Identifier: Apache-2.0
#include "daemon/protocol/framing.h"

namespace kvboost::protocol {

void LineFramer::append(std::string_view bytes) {
  // What was handed out is dropped here, once per read, so that many short lines cost no more than their
  // bytes.
  buffer_.erase(0, start_);
  scanned_ -= start_;
  start_ = 0;
  buffer_.append(bytes);
}

Result<std::optional<std::string>> LineFramer::next() {
  for (;;) {
    const std::size_t end = buffer_.find('\n', scanned_);
    const std::size_t length = (end == std::string::npos ? buffer_.size() : end) - start_;
    if (length > limit_) {
      return fail(ErrorCode::kProtocol, "a message is longer than " + std::to_string(limit_) + " bytes");
    }
    if (end == std::string::npos) {
      scanned_ = buffer_.size();
      return std::nullopt;
    }
    std::string_view line(buffer_.data() + start_, length);
    start_ = scanned_ = end + 1;
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.find_first_not_of(" \t") != std::string_view::npos) return std::string(line);
  }
}

}  // namespace kvboost::protocol
