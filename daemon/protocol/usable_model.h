// SPDX-License-Identifier: Apache-2.0
// Whether a model of the catalogue can be used, as an error that daemon and commands word alike. Any thread.
#pragma once

#include "base/error.h"
#include "daemon/protocol/methods.h"

namespace kvboost::protocol {

/// kModel, naming the file, if it has a problem.
[[nodiscard]] Result<void> check_usable(const ModelEntry& model);

}  // namespace kvboost::protocol
