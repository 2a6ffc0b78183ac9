// SPDX-License-Identifier: Apache-2.0
// What a command reads from standard input or a file that was named. Blocking, any thread.
#pragma once

#include <cstddef>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

#include "base/error.h"

namespace kvboost::cli {

/// To its end. kInvalidArgument with `remedy` when it has more than `most` bytes; `origin` names it in
/// errors.
[[nodiscard]] Result<std::string> read_stream(std::FILE* stream, std::string_view origin, std::size_t most,
                                              std::string_view remedy);

using Stream = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;
/// For reading; null, and errno is set, when that fails.
[[nodiscard]] Stream open_stream(const std::string& file);

}  // namespace kvboost::cli
