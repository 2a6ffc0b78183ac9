// SPDX-License-Identifier: Apache-2.0
#include "cli/mistake.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <string_view>
#include <vector>

#include "base/nearest.h"
#include "cli/exit_code.h"
#include "cli/plain_word.h"
#include "cli/terminal.h"

namespace kvboost::cli {
namespace {

/// Names of options (those of the parents too) or commands that could have been meant.
std::vector<std::string> known_words(const CLI::App& app, bool options) {
  std::vector<std::string> words;
  if (!options) {
    for (const CLI::App* command : app.get_subcommands({})) words.push_back(command->get_name());
    return words;
  }
  for (const CLI::App* level = &app; level != nullptr; level = level->get_parent()) {
    for (const CLI::Option* option : level->get_options()) {
      for (const std::string& name : option->get_lnames()) words.push_back("--" + name);
    }
  }
  return words;
}

/// What CLI11 only calls "not expected": a word that is no command, no option, or one too many.
std::string unexpected_text(const CLI::App& root) {
  const CLI::App& app = innermost(root);
  const std::vector<std::string> rest = root.remaining(true);
  if (rest.empty()) return "";
  const bool is_plain = rest.front().starts_with(kPlainWordMark);
  const std::string word =
      is_plain ? plain_word(rest.front()) : rest.front().substr(0, rest.front().find('='));
  const bool is_option = word.starts_with('-') && !is_plain;
  const std::vector<std::string> known = known_words(app, is_option);
  if (!is_plain && path_of(app) == "kvboost" && (word == "-v" || word == "-V" || word == "version")) {
    return word + " is not known here; `kvboost --version` shows version and build";
  }
  std::string text = (is_option       ? "there is no option "
                      : known.empty() ? "one word too many: "
                                      : "there is no command ") +
                     word + " in `" + path_of(app) + "`";
  const std::vector<std::string_view> candidates(known.begin(), known.end());
  if (const auto near = nearest(word, candidates); !near.empty())
    text += "; did you mean " + std::string(near) + "?";
  return text;
}

/// `kvboost daemon` alone, or with a word that is none of its commands.
std::string missing_command_text(const CLI::App& root) {
  if (!root.remaining(true).empty()) return unexpected_text(root);
  std::string names;
  for (const CLI::App* command : innermost(root).get_subcommands({})) {
    names += (names.empty() ? "" : ", ") + command->get_name();
  }
  return "`" + path_of(innermost(root)) + "` wants one of: " + names;
}

}  // namespace

const CLI::App& innermost(const CLI::App& app) {
  const auto chosen = app.get_subcommands();
  return chosen.empty() ? app : innermost(*chosen.front());
}

std::string path_of(const CLI::App& app) {
  return app.get_parent() == nullptr ? app.get_name() : path_of(*app.get_parent()) + " " + app.get_name();
}

int say_mistake(const CLI::App& root, const CLI::ParseError& error) {
  std::string text = error.what();
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr) text = unexpected_text(root);
  if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr &&
      !innermost(root).get_subcommands({}).empty()) {
    text = missing_command_text(root);
  }
  const std::string command = path_of(innermost(root));
  std::fprintf(stderr, "kvboost: %s\n  `%s --help` lists what there is\n", printable(text).c_str(),
               command.c_str());
  return kExitUsage;
}

}  // namespace kvboost::cli
