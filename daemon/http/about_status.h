// SPDX-License-Identifier: Apache-2.0
// Exchanges that are answered from the daemon's status. For the .cpp files of this folder; any thread.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "daemon/http/exchange.h"
#include "daemon/protocol/methods.h"

namespace kvboost::daemon {

/// `tell` makes an Answer of a StatusResult.
template <class Tell>
[[nodiscard]] Exchange about_status(Tell tell) {
  return {.method = "status",
          .on_result = [tell = std::move(tell)](const nlohmann::json& result) -> Result<Answer> {
            const auto status = protocol::decode<protocol::StatusResult>(result);
            if (!status) return fail(status.error());
            return tell(*status);
          }};
}

/// As the model calls itself; before it was loaded, as its file is called. Empty: there is none.
[[nodiscard]] inline std::string model_name(const protocol::StatusResult& status) {
  if (!status.model_name.empty()) return status.model_name;
  return std::filesystem::path(status.model).stem().string();
}

}  // namespace kvboost::daemon
