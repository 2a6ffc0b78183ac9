// SPDX-License-Identifier: Apache-2.0
// Exchanges that are answered from the daemon's status. Any thread.
#pragma once

#include <filesystem>
#include <string>
#include <utility>

#include "daemon/http/answer_with.h"
#include "daemon/protocol/methods.h"

namespace kvboost::daemon {

/// `tell` makes an Answer of a StatusResult.
template <class Tell>
[[nodiscard]] Exchange about_status(Tell tell) {
  return {.method = "status", .on_result = answer_with<protocol::StatusResult>(std::move(tell))};
}

/// As the model calls itself; before it was loaded, as its file is called. Empty: there is none.
[[nodiscard]] inline std::string model_name(const protocol::StatusResult& status) {
  if (!status.model_name.empty()) return status.model_name;
  return std::filesystem::path(status.model).stem().string();
}

}  // namespace kvboost::daemon
