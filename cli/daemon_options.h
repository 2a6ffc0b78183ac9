// SPDX-License-Identifier: Apache-2.0
// The options of this command against those that the daemon was started with. One thread.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/config.h"
#include "base/error.h"
#include "cli/client.h"

namespace kvboost::cli {

/// A file that is named from `directory` on: the daemon stands elsewhere. Anything that is no such file stays
/// as it is.
[[nodiscard]] std::string from_root(std::string_view option, std::string text,
                                    const std::filesystem::path& directory);

/// What a daemon that we start must be told: it reads files and variables itself, but not our command line,
/// and it does not stand where a relative name was meant.
[[nodiscard]] std::vector<std::string> daemon_flags(const Config& config,
                                                    const std::filesystem::path& directory);

/// What a running daemon does otherwise than variables and files say now, in a line; often empty. An error
/// for what it does otherwise than a flag of this very command says, since the command would not do what it
/// was told: kInvalidArgument with the commands that change it; kModel for a model that cannot be used.
[[nodiscard]] Result<std::string> compare_options(const Config& config,
                                                  const std::filesystem::path& directory, Client& client);

/// kModel if the --model of this command, if any, cannot be used.
[[nodiscard]] Result<void> check_model_flag(const Config& config, const std::filesystem::path& directory,
                                            Client& client);

}  // namespace kvboost::cli
