// SPDX-License-Identifier: Apache-2.0
// The process's log, over spdlog. Any thread. The daemon logs to a rotating file in the state directory
// (0600), everything else to stderr; no source text and no prompt is ever logged.
#pragma once

#include <spdlog/spdlog.h>

#include <filesystem>
#include <string_view>

#include "base/error.h"

namespace kvboost::log {

using spdlog::debug;
using spdlog::error;
using spdlog::info;
using spdlog::warn;

/// Sends the log to `file` (rotated at 5 MB, one old file kept), once a first line could be written to it.
/// `level`: trace debug info warn error off.
[[nodiscard]] Result<void> to_file(const std::filesystem::path& file, std::string_view level);

/// Sends warnings and errors to stderr as a command says things to a person: "kvboost: …".
void for_people();

/// Sends the log to stderr.
[[nodiscard]] Result<void> to_stderr(std::string_view level);

}  // namespace kvboost::log
