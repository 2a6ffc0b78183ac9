// SPDX-License-Identifier: Apache-2.0
// The programs that were installed together with this one. Any thread.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "base/error.h"

namespace kvboost::cli {

/// `name` beside this executable, or in the libexec folder that belongs to it. Never from PATH: another
/// installation's daemon would be another build.
[[nodiscard]] Result<std::filesystem::path> find_program(std::string_view name);

/// What the program writes when called with one argument, stdout and stderr. Fails, with its last words, if
/// it cannot be started, does not end well, or not within ten seconds.
[[nodiscard]] Result<std::string> run_program(const std::filesystem::path& program,
                                              const std::string& argument);

}  // namespace kvboost::cli
