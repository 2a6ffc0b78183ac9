// SPDX-License-Identifier: Apache-2.0
// What `kvboost` exits with: the one table, shown by --help and in the manual.
#pragma once

#include <array>
#include <string_view>

#include "base/error.h"

namespace kvboost::cli {

enum ExitCode : int {
  kExitDone = 0,
  kExitFailed = 1,
  kExitUsage = 2,
  kExitNoDaemon = 3,
  kExitModel = 4,
  kExitCancelled = 130,
};

struct ExitCodeRow {
  ExitCode code;
  std::string_view meaning;
};

inline constexpr std::array<ExitCodeRow, 6> kExitCodes = {{
    {kExitDone, "done; also when the reader of the output left early"},
    {kExitFailed, "the request failed, or `doctor` found something broken"},
    {kExitUsage, "the command line or the configuration is wrong, or the daemon runs with other options"},
    {kExitNoDaemon, "no daemon is running, or it cannot be started"},
    {kExitModel, "the model is missing, ambiguous or refused"},
    {kExitCancelled, "cancelled, by Ctrl-C or from elsewhere"},
}};

/// For an error that the daemon answered with.
[[nodiscard]] constexpr ExitCode exit_code(ErrorCode code) {
  if (code == ErrorCode::kCancelled) return kExitCancelled;
  if (code == ErrorCode::kModel) return kExitModel;
  return kExitFailed;
}

}  // namespace kvboost::cli
