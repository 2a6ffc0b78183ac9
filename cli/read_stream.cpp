// SPDX-License-Identifier: Apache-2.0
#include "cli/read_stream.h"

#include <array>
#include <cerrno>

#include "base/bytes.h"

namespace kvboost::cli {

Result<std::string> read_stream(std::FILE* stream, std::string_view origin, std::size_t most,
                                std::string_view remedy) {
  std::string text;
  std::array<char, 16384> buffer;
  while (const std::size_t count = std::fread(buffer.data(), 1, buffer.size(), stream)) {
    text.append(buffer.data(), count);
    if (text.size() > most) {
      return fail(ErrorCode::kInvalidArgument, std::string(origin) + " is longer than " + human_size(most),
                  std::string(remedy));
    }
  }
  if (std::ferror(stream) != 0) return fail_errno("cannot read " + std::string(origin), errno);
  return text;
}

Stream open_stream(const std::string& file) {
  return {std::fopen(file.c_str(), "rbe"), &std::fclose};
}

}  // namespace kvboost::cli
