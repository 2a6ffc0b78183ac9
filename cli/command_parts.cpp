// SPDX-License-Identifier: Apache-2.0
#include "cli/command_parts.h"

namespace kvboost::cli {

CLI::App& add_command(CLI::App& parent, const std::string& name, const std::string& purpose,
                      const std::string& examples) {
  CLI::App& app = *parent.add_subcommand(name, purpose);
  app.fallthrough();
  app.footer(examples.empty() ? "" : "Examples:\n" + examples);  // else it would be the parent's
  return app;
}

CLI::Option* add_json_flag(CLI::App& app, bool& json) {
  return app.add_flag("--json", json, "Print JSON on standard output");
}

void add_table_options(CLI::App& app, Invocation& invocation, Scope scope, const char* group) {
  for (const Option& option : option_table()) {
    if (option.scope != scope) continue;
    const auto store = [&invocation, name = std::string(option.name)](const std::string& text) {
      invocation.flags[name] = text;
    };
    std::string help(option.help);
    if (!option.default_value.empty()) help += " [" + std::string(option.default_value) + "]";
    if (option.kind == OptionKind::kFlag) {
      const auto set = [store](std::int64_t count) { store(count > 0 ? "yes" : "no"); };
      app.add_flag_function(flag_name(option), set, help)->group(group);
    } else {
      app.add_option_function<std::string>(flag_name(option), store, help)
          ->type_name(value_name(option))
          ->group(group);
    }
  }
}

std::string value_name(const Option& option) {
  switch (option.kind) {
    case OptionKind::kText:
      return "TEXT";
    case OptionKind::kInteger:
      return "N";
    case OptionKind::kNumber:
      return "X";
    case OptionKind::kSize:
      return "SIZE";
    case OptionKind::kFlag:
      return "";
    case OptionKind::kChoice:
      return std::string(option.allowed);
    case OptionKind::kPath:
      return "PATH";
    case OptionKind::kDuration:
      return "TIME";
  }
  return "";
}

}  // namespace kvboost::cli
