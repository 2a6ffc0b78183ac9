// SPDX-License-Identifier: Apache-2.0
// Manual pages (roff, man macros) out of the command tree and the option table. Pure.
#pragma once

#include <string>

#include "cli/doc_tree.h"

namespace kvboost::cli {

/// kvboost(1), kvboostd(8), kvboost.toml(5). `version` stands in the footer.
[[nodiscard]] std::string manual_of_commands(const DocCommand& root, const std::string& version);
[[nodiscard]] std::string manual_of_daemon(const std::string& version);
[[nodiscard]] std::string manual_of_options(const std::string& version);

}  // namespace kvboost::cli
