// SPDX-License-Identifier: Apache-2.0
#include "cli/integration_commands.h"

#include "cli/cmd_hook.h"
#include "cli/cmd_mcp.h"
#include "cli/command_parts.h"

namespace kvboost::cli {
namespace {

void hook_command(CLI::App& root, Invocation& invocation) {
  CLI::App& app = add_command(root, "hook", "Have git keep the cache warm",
                              "  kvboost hook install\n"
                              "  kvboost hook status");
  app.require_subcommand(1);
  const auto add = [&](const char* name, const char* purpose, int (*run)(Session&, const HookArguments&)) {
    CLI::App& command = add_command(app, name, purpose);
    return std::pair<CLI::App&, HookArguments&>(command, *bind(command, invocation, run));
  };
  add("install", "After a commit, merge, rebase or switch of branches, read ahead what it changed",
      install_hooks);
  add("uninstall", "Leave the hooks as they were", uninstall_hooks);
  const auto [status, what] = add("status", "Show which hooks are installed, and where", show_hooks);
  add_json_flag(status, what.json);
  const auto [run, hook] = add("run", "What an installed hook calls", run_hook);
  run.group("");  // not for people
  run.add_option("hook", hook.hook)->required();
  run.add_option("arguments", hook.arguments);
}

void mcp_command(CLI::App& root, Invocation& invocation) {
  CLI::App& app = add_command(
      root, "mcp", "Serve an assistant by the Model Context Protocol, on standard input and output",
      "  kvboost mcp\n"
      "  kvboost mcp ~/src/app ~/src/library");
  app.add_option("directories", bind(app, invocation, serve_mcp)->directories,
                 "What the assistant may ask about; without them, the directory that it is started in")
      ->type_name("[DIRECTORY...]");
}

}  // namespace

void add_integration_commands(CLI::App& root, Invocation& invocation) {
  hook_command(root, invocation);
  mcp_command(root, invocation);
}

}  // namespace kvboost::cli
