// SPDX-License-Identifier: Apache-2.0
// `kvboost status`: what the daemon is doing, which it starts as every command does.
#pragma once

#include "cli/session.h"
#include "daemon/protocol/methods.h"

namespace kvboost::cli {

struct StatusArguments {
  bool skipped = false;  // what is left out of the repository, instead
  bool json = false;
  bool if_running = false;  // starts none
};

[[nodiscard]] int status(Session& session, const StatusArguments& arguments);

[[nodiscard]] std::string skipped_text(const protocol::SkippedResult& result, const Terminal& terminal);
[[nodiscard]] std::string status_text(const protocol::StatusResult& status, const Terminal& terminal);

}  // namespace kvboost::cli
