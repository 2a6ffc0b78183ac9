// SPDX-License-Identifier: Apache-2.0
// What an HTTP answer is on the wire. Pure functions, any thread.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace kvboost::daemon {

struct ResponseHead {
  unsigned status = 200;
  std::string content_type;
  std::optional<std::size_t> length{};  // none: in chunks, or up to the end of the connection
  bool chunked = false;
  bool keep_alive = false;
  std::string allow{};  // with 405
};

[[nodiscard]] std::string head_text(const ResponseHead& head);
/// One chunk of a chunked body; not for an empty text, which would be the end.
[[nodiscard]] std::string chunk_text(std::string_view data);
inline constexpr std::string_view kLastChunk = "0\r\n\r\n";

}  // namespace kvboost::daemon
