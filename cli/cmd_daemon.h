// SPDX-License-Identifier: Apache-2.0
// `kvboost daemon`: starts and ends it, and shows its log.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "cli/session.h"

namespace kvboost::cli {

struct DaemonArguments {
  bool now = false;         // stop, restart: cancel what runs
  bool follow = false;      // logs
  std::int64_t lines = 50;  // logs
};

[[nodiscard]] int start_daemon(Session& session, const DaemonArguments& arguments);
[[nodiscard]] int stop_daemon(Session& session, const DaemonArguments& arguments);
[[nodiscard]] int restart_daemon(Session& session, const DaemonArguments& arguments);
[[nodiscard]] int show_logs(Session& session, const DaemonArguments& arguments);

/// The last `count` lines of `text`.
[[nodiscard]] std::string_view last_lines(std::string_view text, std::int64_t count);

}  // namespace kvboost::cli
