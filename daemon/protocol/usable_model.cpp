// SPDX-License-Identifier: Apache-2.0
#include "daemon/protocol/usable_model.h"

namespace kvboost::protocol {

Result<void> check_usable(const ModelEntry& model) {
  if (model.problem.empty()) return {};
  const bool named = model.problem.find(model.path) != std::string::npos;
  return fail(ErrorCode::kModel, named ? model.problem : model.path + ": " + model.problem,
              "`kvboost model list` shows the models that can be used");
}

}  // namespace kvboost::protocol
