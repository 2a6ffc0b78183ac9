// SPDX-License-Identifier: Apache-2.0
// The text of --help, out of the command tree, as wide as the terminal. Pure.
#pragma once

#include <cstdio>
#include <string>

#include "cli/doc_tree.h"

namespace kvboost::cli {

/// `width` is the terminal's; text is wrapped at it, but not narrower than reads well.
[[nodiscard]] std::string help_text(const DocCommand& command, int width);

/// Of a command, or of one below it, for the terminal that `stream` may be.
[[nodiscard]] std::string help_of(const CLI::App& app, std::FILE* stream);

}  // namespace kvboost::cli
