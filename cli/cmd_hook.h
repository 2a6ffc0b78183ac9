// SPDX-License-Identifier: Apache-2.0
// `kvboost hook`: has git's hooks read ahead what a commit, merge, rebase or switch of branches has changed.
#pragma once

#include <string>
#include <vector>

#include "cli/session.h"

namespace kvboost::cli {

struct HookArguments {
  bool json = false;                   // status
  std::string hook;                    // run: "post-commit"
  std::vector<std::string> arguments;  // run: what git gave it
};

[[nodiscard]] int install_hooks(Session& session, const HookArguments& arguments);
[[nodiscard]] int uninstall_hooks(Session& session, const HookArguments& arguments);
[[nodiscard]] int show_hooks(Session& session, const HookArguments& arguments);

/// What an installed hook starts in the background: never fails, whatever is wrong.
[[nodiscard]] int run_hook(Session& session, const HookArguments& arguments);

}  // namespace kvboost::cli
