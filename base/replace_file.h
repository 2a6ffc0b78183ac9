// SPDX-License-Identifier: Apache-2.0
// Puts a file in the place of another in one step: whoever reads, and whatever is killed, sees the old
// content or the new one, never a part. Any thread.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string_view>

#include "base/error.h"

namespace kvboost {

/// Writes `bytes` beside `file`, by default readable by the user alone, to the disk, and renames. On failure
/// the old file stays and nothing else does; the error names the file.
[[nodiscard]] Result<void> replace_file(const std::filesystem::path& file, std::string_view bytes,
                                        mode_t mode = 0600);

}  // namespace kvboost
