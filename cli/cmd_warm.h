// SPDX-License-Identifier: Apache-2.0
// `kvboost warm`: has the daemon compute and keep the blocks of a repository's files ahead of any question.
#pragma once

#include <string>
#include <vector>

#include "cli/session.h"
#include "daemon/protocol/methods.h"

namespace kvboost::cli {

struct WarmArguments {
  std::vector<std::string> paths;
  bool changed = false;
  std::string since;
  bool background = false;
  bool dry_run = false;
  bool json = false;
};

[[nodiscard]] int warm(Session& session, const WarmArguments& arguments);

/// One line for the terminal: a bar, files, tokens, bytes, speed and the time that is left.
[[nodiscard]] std::string warm_progress_text(const protocol::WarmProgress& progress);

/// What was done, in a line or two.
[[nodiscard]] std::string warm_summary(const protocol::WarmResult& result);

}  // namespace kvboost::cli
