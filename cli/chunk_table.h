// SPDX-License-Identifier: Apache-2.0
// The parts of a prompt as a table, for `--explain`. Pure.
#pragma once

#include <span>
#include <string>

#include "cli/terminal.h"
#include "daemon/protocol/methods.h"

namespace kvboost::cli {

/// Each part of the prompt, and what was done with it; empty when nothing is told of them.
[[nodiscard]] std::string chunk_table(std::span<const protocol::AskChunk> chunks, const Terminal& terminal);

}  // namespace kvboost::cli
