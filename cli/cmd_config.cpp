// SPDX-License-Identifier: Apache-2.0
#include "cli/cmd_config.h"

#include <nlohmann/json.hpp>

#include "base/config_file.h"
#include "base/paths.h"
#include "cli/render.h"

namespace kvboost::cli {
namespace {

std::string_view kind_name(OptionKind kind) {
  switch (kind) {
    case OptionKind::kText:
      return "text";
    case OptionKind::kInteger:
      return "integer";
    case OptionKind::kNumber:
      return "number";
    case OptionKind::kSize:
      return "size";
    case OptionKind::kFlag:
      return "flag";
    case OptionKind::kChoice:
      return "choice";
    case OptionKind::kPath:
      return "path";
    case OptionKind::kDuration:
      return "duration";
  }
  return "text";
}

nlohmann::ordered_json to_json(const Option& option, const Config& config) {
  const Config::Value& value = config.value(option.name);
  return {{"name", option.name},
          {"value", value.text},
          {"origin", to_string(value.origin)},
          {"where", value.where},
          {"default", option.default_value},
          {"kind", kind_name(option.kind)},
          {"allowed", option.allowed},
          {"flag", flag_name(option)},
          {"variable", variable_name(option)},
          {"repository_may_set", option.trust == Trust::kRepository},
          {"help", option.help}};
}

/// Where a value stands, for a person; flags and variables are named already by `where`.
std::string origin_text(const Config::Value& value) {
  std::string text(to_string(value.origin));
  if (!value.where.empty()) text += ", " + value.where;
  return text;
}

/// Options are written max_disk; a person who has the flag in mind may say max-disk.
const Option* find(std::string name) {
  while (name.starts_with('-')) name.erase(0, 1);
  for (char& c : name) c = c == '-' ? '_' : c;
  return find_option(name);
}

int show_one(Session& session, const Option& option, bool json) {
  const Config& config = *session.config();
  if (json) {
    session.out().write(json_line(to_json(option, config)));
    return kExitDone;
  }
  const Config::Value& value = config.value(option.name);
  const auto shown = [](std::string_view text) { return text.empty() ? "(empty)" : std::string(text); };
  session.out().write_painted(fields(
      session.out(),
      {{std::string(option.name), shown(value.text)},
       {"origin", origin_text(value)},
       {"default", shown(option.default_value)},
       {"takes", option.allowed.empty() ? std::string(kind_name(option.kind)) : std::string(option.allowed)},
       {"flag", flag_name(option)},
       {"variable", variable_name(option)},
       {"in a repository", option.trust == Trust::kRepository ? "may be set" : "may not be set"},
       {"meaning", std::string(option.help)}}));
  return kExitDone;
}

int show_all(Session& session, bool json) {
  const Config& config = *session.config();
  if (json) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const Option& option : option_table()) list.push_back(to_json(option, config));
    session.out().write(json_line(list));
    return kExitDone;
  }
  Table table({{"option"}, {"value"}, {"origin"}});
  for (const Option& option : option_table()) {
    const Config::Value& value = config.value(option.name);
    const Style style = value.origin == Origin::kDefault ? Style::kPlain : Style::kStrong;
    table.add({std::string(option.name), value.text, origin_text(value)},
              {Style::kPlain, style, Style::kFaint});
  }
  session.out().write_painted(table.text(session.out()));
  return kExitDone;
}

int edit(Session& session, const std::string& name, const std::optional<std::string>& value) {
  const Option* option = find(name);
  if (option == nullptr) return session.failed(unknown_option(name), kExitUsage);
  if (value) {
    if (auto good = check_value(*option, *value); !good) return session.failed(good.error(), kExitUsage);
  }
  const auto folder = config_dir();
  if (!folder) return session.failed(folder.error());
  const auto file = *folder / "kvboost.toml";
  if (auto done = edit_config_file(file, option->name, value); !done) return session.failed(done.error());
  session.note(value ? std::string(option->name) + " is set in " + file.string()
                     : std::string(option->name) + " is no longer set in " + file.string());
  if (option->scope == Scope::kDaemon)
    session.note("a running daemon takes it up after `kvboost daemon restart`");
  return kExitDone;
}

}  // namespace

int show_config(Session& session, const ConfigArguments& arguments) {
  if (!session.config()) return session.failed(session.config().error(), kExitUsage);
  session.note_warnings();
  if (arguments.name.empty()) return show_all(session, arguments.json);
  const Option* option = find(arguments.name);
  if (option == nullptr) return session.failed(unknown_option(arguments.name), kExitUsage);
  return show_one(session, *option, arguments.json);
}

int set_config(Session& session, const ConfigArguments& arguments) {
  return edit(session, arguments.name, arguments.value);
}

int unset_config(Session& session, const ConfigArguments& arguments) {
  return edit(session, arguments.name, std::nullopt);
}

}  // namespace kvboost::cli
