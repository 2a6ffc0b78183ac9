// SPDX-License-Identifier: Apache-2.0
// What the table of commands is put together from. One thread.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "base/config.h"
#include "cli/command_line.h"

namespace kvboost::cli {

/// A command with its arguments in a struct that lives as long as the callback.
template <class Arguments>
std::shared_ptr<Arguments> bind(CLI::App& app, Invocation& invocation,
                                int (*run)(Session&, const Arguments&)) {
  auto arguments = std::make_shared<Arguments>();
  app.callback([&app, &invocation, arguments, run] {
    if (!app.get_subcommands().empty()) return;  // `config set`: called after the subcommand's own
    invocation.run = [arguments, run](Session& session) { return run(session, *arguments); };
  });
  return arguments;
}

CLI::App& add_command(CLI::App& parent, const std::string& name, const std::string& purpose,
                      const std::string& examples = "");

CLI::Option* add_json_flag(CLI::App& app, bool& json);

/// Adds the rows of the option table that have this scope; each ends up in the invocation's flags.
void add_table_options(CLI::App& app, Invocation& invocation, Scope scope, const char* group);

/// "SIZE", "N", "auto|always|never": what help shows for an option's value.
[[nodiscard]] std::string value_name(const Option& option);

}  // namespace kvboost::cli
