// SPDX-License-Identifier: Apache-2.0
// Completions for the usual shells, out of the command tree. Static: pressing TAB starts no process. Pure.
#pragma once

#include <string>

#include "cli/doc_tree.h"

namespace kvboost::cli {

[[nodiscard]] std::string bash_completion(const DocCommand& root);
[[nodiscard]] std::string zsh_completion(const DocCommand& root);
[[nodiscard]] std::string fish_completion(const DocCommand& root);

}  // namespace kvboost::cli
