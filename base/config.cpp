// SPDX-License-Identifier: Apache-2.0
#include "base/config.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "base/bytes.h"
#include "base/config_file.h"
#include "base/duration.h"
#include "base/paths.h"

namespace kvboost {
namespace {

constexpr std::string_view kRepositoryFileName = ".kvboost.toml";

[[noreturn]] void defect(std::string_view name) {
  std::fprintf(stderr, "kvboost: the option table has no '%.*s'\n", static_cast<int>(name.size()),
               name.data());
  std::abort();
}

Error at(std::string_view where, const Error& error) {
  return {error.code, std::string(where) + ": " + error.message, error.remedy};
}

std::string place(const std::filesystem::path& file, int line) {
  return file.string() + ":" + std::to_string(line);
}

/// The repository's root by the look of it: the nearest directory upwards that holds `.git`, else where we
/// stand.
std::filesystem::path repository_file_of(const std::filesystem::path& directory) {
  std::error_code error;
  for (auto up = directory; !up.empty(); up = up.parent_path()) {
    if (std::filesystem::exists(up / ".git", error)) return up / kRepositoryFileName;
    if (up == up.root_path()) break;
  }
  return directory / kRepositoryFileName;
}

}  // namespace

std::string_view to_string(Origin origin) {
  switch (origin) {
    case Origin::kDefault:
      return "default";
    case Origin::kUserFile:
      return "user file";
    case Origin::kRepositoryFile:
      return "repository file";
    case Origin::kEnvironment:
      return "environment";
    case Origin::kFlag:
      return "flag";
  }
  return "unknown";
}

ConfigSources Config::process_sources(const std::filesystem::path& directory) {
  ConfigSources sources;
  sources.environment = [](std::string_view variable) -> std::optional<std::string> {
    const char* text = std::getenv(std::string(variable).c_str());
    return text == nullptr ? std::nullopt : std::optional<std::string>(text);
  };
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    if (text.starts_with("KVBOOST_")) sources.variables.emplace_back(text.substr(0, text.find('=')));
  }
  std::error_code error;
  if (const auto folder = config_dir()) {
    if (const auto file = *folder / "kvboost.toml"; std::filesystem::exists(file, error))
      sources.user_file = file;
  }
  if (!directory.empty()) {
    const auto file = repository_file_of(directory);
    if (std::filesystem::exists(file, error)) sources.repository_file = file;
  }
  return sources;
}

Result<Config> Config::load(const ConfigSources& sources) {
  Config config;
  for (const Option& option : option_table()) {
    config.values_.emplace(option.name, Value{std::string(option.default_value), Origin::kDefault, ""});
  }
  if (auto read = config.read_user_file(sources); !read) return fail(read.error());
  config.read_repository_file(sources);
  for (const Option& option : option_table()) {
    const std::string variable = variable_name(option);
    const auto text = sources.environment ? sources.environment(variable) : std::nullopt;
    if (!text || text->empty()) continue;  // an empty variable is how shells unset one for a command
    if (auto good = check_value(option, *text); !good) return fail(at(variable, good.error()));
    config.values_.find(option.name)->second = {*text, Origin::kEnvironment, variable};
  }
  for (const std::string& name : sources.variables) {
    if (std::string warning = stray_variable(name); !warning.empty())
      config.warnings_.push_back(std::move(warning));
  }
  for (const auto& [name, text] : sources.flags) {
    const Option* option = find_option(name);
    if (option == nullptr) return fail(at("flags", unknown_option(name)));
    if (auto good = check_value(*option, text); !good) return fail(at(flag_name(*option), good.error()));
    config.values_.find(name)->second = {text, Origin::kFlag, flag_name(*option)};
  }
  return config;
}

Result<void> Config::read_user_file(const ConfigSources& sources) {
  if (!sources.user_file) return {};
  const auto entries = read_config_file(*sources.user_file);
  if (!entries) return fail(entries.error());
  for (const ConfigEntry& entry : *entries) {
    const std::string where = place(*sources.user_file, entry.line);
    const Option* option = find_option(entry.name);
    if (option == nullptr) return fail(at(where, unknown_option(entry.name)));
    if (auto good = check_value(*option, entry.text); !good) return fail(at(where, good.error()));
    values_.find(entry.name)->second = {entry.text, Origin::kUserFile, where};
  }
  return {};
}

void Config::read_repository_file(const ConfigSources& sources) {
  if (!sources.repository_file) return;
  // Other people's file: whatever is wrong with it must not stop the user's command.
  const auto entries = read_config_file(*sources.repository_file);
  if (!entries) {
    warnings_.push_back(entries.error().message + "; the file is ignored");
    return;
  }
  for (const ConfigEntry& entry : *entries) {
    const std::string where = place(*sources.repository_file, entry.line);
    const Option* option = find_option(entry.name);
    if (option == nullptr) {
      warnings_.push_back(at(where, unknown_option(entry.name)).text() + "; ignored");
    } else if (option->trust == Trust::kUser) {
      warnings_.push_back(where + ": a repository may not set " + entry.name + "; ignored");
    } else if (auto good = check_value(*option, entry.text); !good) {
      warnings_.push_back(at(where, good.error()).message + "; ignored");
    } else {
      values_.find(entry.name)->second = {entry.text, Origin::kRepositoryFile, where};
    }
  }
}

const Config::Value& Config::value(std::string_view name) const {
  const auto found = values_.find(name);
  if (found == values_.end()) defect(name);
  return found->second;
}

std::int64_t Config::integer(std::string_view name) const {
  const std::string& text = value(name).text;
  std::int64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

double Config::number(std::string_view name) const {
  const std::string& text = value(name).text;
  double number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

std::uint64_t Config::bytes(std::string_view name) const {
  return parse_size(text(name)).value_or(0);
}

double Config::seconds(std::string_view name) const {
  return parse_duration(text(name)).value_or(0);
}

bool Config::flag(std::string_view name) const {
  return parse_flag(text(name)).value_or(false);
}

}  // namespace kvboost
