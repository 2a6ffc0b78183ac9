// SPDX-License-Identifier: Apache-2.0
// The tools that kvboost offers assistants: what each takes and gives, and the request to the daemon behind
// it. Calls may run side by side, each with a connection of its own.
#pragma once

#include <filesystem>
#include <functional>
#include <vector>

#include "base/config.h"
#include "cli/client.h"
#include "cli/mcp_server.h"

namespace kvboost::cli {

struct McpPlaces {
  /// Absolute; what a call may be about. The first is what it is about when it does not say.
  std::vector<std::filesystem::path> directories;
  /// Of any thread. A daemon is started if there is none.
  std::function<Result<Client>(std::stop_token)> connect;
};

/// `config` says how long an answer may be. Both must outlive the tools.
[[nodiscard]] std::vector<McpTool> mcp_tools(const McpPlaces& places, const Config& config);

/// The directory that a call names (relative ones from the first place on), if it is one of the places or
/// within one; links are followed first. kInvalidArgument: it is not.
[[nodiscard]] Result<std::filesystem::path> allowed_directory(
    const std::vector<std::filesystem::path>& directories, const std::filesystem::path& named);

}  // namespace kvboost::cli
