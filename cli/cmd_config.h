// SPDX-License-Identifier: Apache-2.0
// `kvboost config`: what each option is, and why; and changes to the user's file.
#pragma once

#include <string>

#include "cli/session.h"

namespace kvboost::cli {

struct ConfigArguments {
  std::string name;   // empty: all
  std::string value;  // set
  bool json = false;
};

[[nodiscard]] int show_config(Session& session, const ConfigArguments& arguments);
[[nodiscard]] int set_config(Session& session, const ConfigArguments& arguments);
[[nodiscard]] int unset_config(Session& session, const ConfigArguments& arguments);

}  // namespace kvboost::cli
