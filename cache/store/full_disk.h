// SPDX-License-Identifier: Apache-2.0
// A full disk, told as one. Any thread.
#pragma once

#include <filesystem>
#include <optional>

#include "base/error.h"

namespace kvboost::cache {

/// The error for a write to `file` that failed with `code`, if there was no room for it: on the disk, in the
/// user's quota, or under the limit for files. LMDB tells a write that came out short as EIO: what a file
/// beside it is refused for says more.
[[nodiscard]] std::optional<Error> disk_is_full(const std::filesystem::path& file, int code);

}  // namespace kvboost::cache
