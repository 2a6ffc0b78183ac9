// SPDX-License-Identifier: Apache-2.0
// Opening files beneath a folder and nowhere else: part by part, following no link, whatever changes on the
// disk meanwhile. Only regular files are opened: a FIFO would block, a device might act. Any thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/error.h"

namespace kvboost::cache {

/// The bytes of root/path. `path` is relative, with '/' between parts, none of them "." or "..". The message
/// of an error is the bare reason ("symbolic link", "larger than 64 MB", ...); kNotFound when there is no
/// such file.
[[nodiscard]] Result<std::string> read_beneath(const std::filesystem::path& root, std::string_view path,
                                               std::uint64_t max_bytes);

/// "larger than 1.0 MB": the reason for leaving out a file by its size.
[[nodiscard]] std::string larger_than(std::uint64_t max_bytes);

}  // namespace kvboost::cache
