// SPDX-License-Identifier: Apache-2.0
#include "cli/doc_tree.h"

#include <CLI/CLI.hpp>

#include "base/config.h"

namespace kvboost::cli {
namespace {

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts;
  for (std::size_t start = 0; start <= text.size();) {
    const auto end = std::min(text.find(at, start), text.size());
    parts.push_back(text.substr(start, end - start));
    start = end + 1;
  }
  return parts;
}

/// "OPTION" stands for a name of the option table; "a|b" names its choices itself.
std::vector<std::string> choices_of(const std::string& value) {
  std::vector<std::string> choices;
  if (value == "OPTION") {
    for (const Option& option : option_table()) choices.emplace_back(option.name);
  } else if (value.find('|') != std::string::npos) {
    choices = split(value, '|');
  }
  return choices;
}

/// What CLI11 calls the type, without what its checks add: "INT:INT in [1 - 9]" is a number.
std::string value_of(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const std::string name = type.substr(0, type.find(':'));
  if (name == "INT" || name == "UINT") return "N";
  return name == "FLOAT" ? "X" : name;
}

DocOption describe(const CLI::Option& option) {
  DocOption out;
  for (const std::string& name : option.get_snames()) out.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) out.names.push_back("--" + name);
  if (option.get_items_expected_max() > 0) out.value = value_of(option);
  out.choices = choices_of(out.value);
  out.help = option.get_description();
  const std::string value = option.get_default_str();  // of a list: "[a,b]"
  if (!value.empty()) out.help += value.starts_with('[') ? " " + value : " [" + value + "]";
  out.group = option.get_group();
  return out;
}

}  // namespace

DocCommand describe(const CLI::App& app, const std::string& parent_path) {
  DocCommand out;
  out.name = app.get_name();
  out.path = parent_path.empty() ? out.name : parent_path + " " + out.name;
  out.purpose = app.get_description();
  out.footer = app.get_footer();
  for (const CLI::Option* option : app.get_options()) {
    (option->get_positional() ? out.positionals : out.options).push_back(describe(*option));
  }
  for (const CLI::App* command : app.get_subcommands({})) {
    if (command->get_group().empty()) continue;  // what programs call
    out.commands.push_back(describe(*command, out.path));
  }
  return out;
}

}  // namespace kvboost::cli
