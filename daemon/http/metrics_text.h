// SPDX-License-Identifier: Apache-2.0
// The daemon's counters in Prometheus's text format, version 0.0.4. Pure, any thread.
#pragma once

#include <string>

#include "daemon/protocol/methods.h"

namespace kvboost::daemon {

[[nodiscard]] std::string metrics_text(const protocol::StatusResult& status);

}  // namespace kvboost::daemon
