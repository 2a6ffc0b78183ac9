// SPDX-License-Identifier: Apache-2.0
// The text of --help, out of the command tree, as wide as the terminal. Pure.
#pragma once

#include <string>

#include "cli/doc_tree.h"

namespace kvboost::cli {

/// `width` is the terminal's; text is wrapped at it, but not narrower than reads well.
[[nodiscard]] std::string help_text(const DocCommand& command, int width);

}  // namespace kvboost::cli
