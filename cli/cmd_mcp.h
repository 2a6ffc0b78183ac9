// SPDX-License-Identifier: Apache-2.0
// `kvboost mcp`: serves an assistant on standard input and output, until it closes them.
#pragma once

#include <string>
#include <vector>

#include "cli/session.h"

namespace kvboost::cli {

struct McpArguments {
  std::vector<std::string> directories;
};

[[nodiscard]] int serve_mcp(Session& session, const McpArguments& arguments);

}  // namespace kvboost::cli
