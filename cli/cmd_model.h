// SPDX-License-Identifier: Apache-2.0
// `kvboost model`: which model files there are, and which one answers.
#pragma once

#include <string>
#include <vector>

#include "cli/session.h"
#include "daemon/protocol/methods.h"

namespace kvboost::cli {

struct ModelArguments {
  std::string model;  // a name or a file; info: empty for the one in use
  bool json = false;
};

[[nodiscard]] int list_models(Session& session, const ModelArguments& arguments);
[[nodiscard]] int show_model(Session& session, const ModelArguments& arguments);
[[nodiscard]] int add_model(Session& session, const ModelArguments& arguments);
[[nodiscard]] int use_model(Session& session, const ModelArguments& arguments);

[[nodiscard]] std::string models_text(const std::vector<protocol::ModelEntry>& models,
                                      const Terminal& terminal);
[[nodiscard]] std::string model_text(const protocol::ModelInfoResult& model, const Terminal& terminal);

}  // namespace kvboost::cli
