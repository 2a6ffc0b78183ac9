// SPDX-License-Identifier: Apache-2.0
// `kvboost bench …`: becomes the separate binary kvboost-bench, which links the engine; this one does not.
#pragma once

#include <string>
#include <vector>

#include "cli/session.h"

namespace kvboost::cli {

/// Returns only if the binary cannot be started.
[[nodiscard]] int bench(Session& session, const std::vector<std::string>& arguments);

}  // namespace kvboost::cli
