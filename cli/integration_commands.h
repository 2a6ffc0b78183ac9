// SPDX-License-Identifier: Apache-2.0
// The commands by which other programs use kvboost: git's hooks, and assistants.  Part of the table in
// command_line.cpp.
#pragma once

#include "cli/command_line.h"

namespace kvboost::cli {

void add_integration_commands(CLI::App& root, Invocation& invocation);

}  // namespace kvboost::cli
