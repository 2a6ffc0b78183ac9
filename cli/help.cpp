// SPDX-License-Identifier: Apache-2.0
#include "cli/help.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <vector>

#include "cli/mistake.h"
#include "cli/render.h"

namespace kvboost::cli {
namespace {

constexpr int kNarrowest = 60;
constexpr int kWidest = 110;
constexpr int kMargin = 2;
constexpr int kTermColumn = 26;  // where the explanation of a term begins

std::string term_of(const DocOption& option) {
  std::string term;
  for (const std::string& name : option.names) term += (term.empty() ? "" : ", ") + name;
  if (!option.value.empty()) term += (term.empty() ? "" : " ") + option.value;
  return term;
}

/// "  term   explanation", the explanation wrapped under itself; a term that is too long has a line of its
/// own.
std::string item(const std::string& term, const std::string& text, int width) {
  std::string line = std::string(kMargin, ' ') + term;
  if (display_width(line) > kTermColumn - 2) line += "\n";
  const int at = line.back() == '\n' ? 0 : display_width(line);
  return line + std::string(static_cast<std::size_t>(kTermColumn - at), ' ') +
         wrapped(text, width, kTermColumn, kTermColumn) + "\n";
}

std::string options_text(const std::vector<DocOption>& options, int width) {
  std::string text;
  std::vector<std::string> groups;
  for (const DocOption& option : options) {
    if (std::ranges::find(groups, option.group) == groups.end()) groups.push_back(option.group);
  }
  for (const std::string& group : groups) {
    text += "\n" + group + ":\n";
    for (const DocOption& option : options) {
      if (option.group == group) text += item(term_of(option), option.help, width);
    }
  }
  return text;
}

}  // namespace

std::string help_text(const DocCommand& command, int width) {
  width = std::clamp(width, kNarrowest, kWidest);
  std::string text = wrapped(command.purpose, width, 0) + ".\n\nUsage: " + command.path;
  if (!command.commands.empty()) text += " COMMAND";
  for (const DocOption& positional : command.positionals) {
    text += command.commands.empty() ? " " + positional.value
                                     : " or " + command.path + " [" + positional.value + "]";
  }
  text += " [options]\n";
  if (!command.commands.empty()) text += "\nCommands:\n";
  for (const DocCommand& sub : command.commands) text += item(sub.name, sub.purpose, width);
  if (!command.positionals.empty()) text += "\nArguments:\n";
  for (const DocOption& positional : command.positionals)
    text += item(positional.value, positional.help, width);
  text += options_text(command.options, width);
  if (!command.footer.empty()) text += "\n" + command.footer + "\n";
  return text;
}

std::string help_of(const CLI::App& app, std::FILE* stream) {
  const std::string parent = app.get_parent() == nullptr ? "" : path_of(*app.get_parent());
  return help_text(describe(app, parent), Terminal(stream, "never").width());
}

}  // namespace kvboost::cli
