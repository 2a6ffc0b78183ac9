// SPDX-License-Identifier: Apache-2.0
// `kvboost doctor`: looks at everything that an answer needs, and says what to do where something is amiss.
// Works without a daemon, without a readable configuration and on any CPU.
#pragma once

#include <string>
#include <vector>

#include "cli/session.h"
#include "daemon/protocol/methods.h"

namespace kvboost::cli {

struct DoctorArguments {
  bool json = false;
  bool model = false;  // try what reuse does to the model's answers
  bool again = false;  // although it was tried before
};

[[nodiscard]] int doctor(Session& session, const DoctorArguments& arguments);

[[nodiscard]] std::string checks_text(const std::vector<protocol::DoctorCheck>& checks,
                                      const Terminal& terminal);

/// The trial of a model, a line a policy.
[[nodiscard]] std::string check_text(const protocol::ModelCheckResult& result, const Terminal& terminal);

}  // namespace kvboost::cli
