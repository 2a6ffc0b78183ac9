// SPDX-License-Identifier: Apache-2.0
// The user's directories, after the XDG base directory specification. Each is made 0700 on first use; one
// that is not ours, or open to others, is refused. Any thread.
#pragma once

#include <filesystem>

#include "base/error.h"

namespace kvboost {

/// $XDG_CONFIG_HOME/kvboost, else ~/.config/kvboost. Not created.
[[nodiscard]] Result<std::filesystem::path> config_dir();
/// $XDG_CACHE_HOME/kvboost, else ~/.cache/kvboost: KV blocks. May be deleted at any time.
[[nodiscard]] Result<std::filesystem::path> cache_dir();
/// $XDG_DATA_HOME/kvboost, else ~/.local/share/kvboost: downloaded models.
[[nodiscard]] Result<std::filesystem::path> data_dir();
/// $XDG_STATE_HOME/kvboost, else ~/.local/state/kvboost: the log, conversations.
[[nodiscard]] Result<std::filesystem::path> state_dir();
/// $XDG_RUNTIME_DIR/kvboost, else /tmp/kvboost-<uid>: socket and lock file.
[[nodiscard]] Result<std::filesystem::path> runtime_dir();

/// Creates `dir` (0700, parents too) if it is absent, and checks that it is a real directory, owned by us
/// and closed to others. kIo or kInvalidArgument with the reason otherwise.
[[nodiscard]] Result<void> ensure_private_dir(const std::filesystem::path& dir);

}  // namespace kvboost
