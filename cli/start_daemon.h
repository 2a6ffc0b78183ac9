// SPDX-License-Identifier: Apache-2.0
// Finding kvboostd and starting it in the background. One thread; blocks until the daemon serves or has
// failed.
#pragma once

#include <filesystem>
#include <stop_token>
#include <string>
#include <vector>

#include "base/error.h"

namespace kvboost::cli {

/// Where this program lies.
[[nodiscard]] std::filesystem::path program_dir();

/// kvboostd: in `here`, then in ../libexec/kvboost beside it, then in PATH. kNotFound with the places.
[[nodiscard]] Result<std::filesystem::path> find_daemon(const std::filesystem::path& here = program_dir());

/// Runs `program`, which puts itself into the background and returns once it serves. It gets none of our
/// files and a session of its own, so that neither Ctrl-C nor a closed terminal reaches it. kIo if it fails:
/// the message is what it said on stderr; kModel if it refuses a model that it was told. kCancelled on stop;
/// the daemon is then left to go on.
[[nodiscard]] Result<void> start_daemon(const std::filesystem::path& program,
                                        const std::vector<std::string>& flags, std::stop_token stop);

}  // namespace kvboost::cli
