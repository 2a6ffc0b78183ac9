// SPDX-License-Identifier: Apache-2.0
// Framing: one message a line, ended by "\n" ("\r\n" is tolerated, blank lines are skipped). A LineFramer
// belongs to one connection and one thread.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"

namespace kvboost::protocol {

/// The longest line, its end not counted.
inline constexpr std::size_t kMaxMessageBytes = 16 * 1024 * 1024;

/// Cuts a stream of bytes into lines, whatever pieces it comes in.
class LineFramer {
 public:
  explicit LineFramer(std::size_t limit = kMaxMessageBytes) : limit_(limit) {}

  void append(std::string_view bytes);
  /// The next whole line, or nothing until more bytes come. kProtocol once a line is longer than the limit,
  /// then for ever: where the next message starts is no longer known, and the connection should be closed.
  [[nodiscard]] Result<std::optional<std::string>> next();
  /// Bytes of a line that has not ended yet.
  [[nodiscard]] std::size_t pending() const { return buffer_.size() - start_; }

 private:
  std::size_t limit_;
  std::string buffer_;
  std::size_t start_ = 0;    // of the line being read
  std::size_t scanned_ = 0;  // no newline before here
};

}  // namespace kvboost::protocol
