// SPDX-License-Identifier: Apache-2.0
#include "cli/manual.h"

#include "base/config.h"
#include "cli/command_parts.h"
#include "cli/exit_code.h"

namespace kvboost::cli {
namespace {

/// Text as roff takes it literally: a line must not begin with a request, hyphens stay hyphens.
std::string escaped(std::string_view text) {
  std::string out;
  bool line_start = true;
  for (const char c : text) {
    if (line_start && (c == '.' || c == '\'')) out += "\\&";
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      out += c;
    }
    line_start = c == '\n';
  }
  return out;
}

std::string header(const std::string& title, int section, const std::string& version, const std::string& name,
                   const std::string& purpose) {
  return ".TH \"" + title + "\" " + std::to_string(section) + " \"\" \"kvboost " + version +
         "\" \"kvboost\"\n" + ".SH NAME\n" + escaped(name) + " \\- " + escaped(purpose) + "\n";
}

std::string paragraph(std::string_view text) {
  return ".PP\n" + escaped(text) + "\n";
}

/// A term and what it means.
std::string item(const std::string& term, std::string_view text) {
  return ".TP\n" + term + "\n" + escaped(text) + "\n";
}

std::string bold(std::string_view text) {
  return "\\fB" + escaped(text) + "\\fR";
}
std::string italic(std::string_view text) {
  return "\\fI" + escaped(text) + "\\fR";
}

std::string term_of(const DocOption& option) {
  std::string term;
  for (const std::string& name : option.names) term += (term.empty() ? "" : ", ") + bold(name);
  if (!option.value.empty()) term += (term.empty() ? "" : " ") + italic(option.value);
  return term;
}

std::string synopsis_of(const DocCommand& command) {
  std::string text = bold(command.path) + " [" + italic("options") + "]";
  for (const DocOption& positional : command.positionals) text += " " + italic(positional.value);
  return ".br\n" + text + "\n";
}

std::string synopses(const DocCommand& command) {
  if (command.commands.empty()) return synopsis_of(command);
  // A command with subcommands has words of its own only where it says so.
  std::string text = command.positionals.empty() ? "" : synopsis_of(command);
  for (const DocCommand& sub : command.commands) text += synopses(sub);
  return text;
}

std::string examples_of(const DocCommand& command) {
  const std::string title = "Examples:\n";
  if (!command.footer.starts_with(title)) return "";
  return ".PP\nExamples:\n.PP\n.nf\n" + escaped(command.footer.substr(title.size())) + "\n.fi\n";
}

std::string section_of(const DocCommand& command) {
  std::string text = ".SS " + bold(command.path) + "\n" + escaped(command.purpose) + ".\n";
  for (const DocOption& positional : command.positionals) text += item(term_of(positional), positional.help);
  for (const DocOption& option : command.options) {
    if (option.names.front() != "-h") text += item(term_of(option), option.help);
  }
  text += examples_of(command);
  for (const DocCommand& sub : command.commands) text += section_of(sub);
  return text;
}

std::string files_section() {
  return ".SH FILES\n" +
         item(italic("$XDG_CONFIG_HOME/kvboost/kvboost.toml"), "Your options; see kvboost.toml(5).") +
         item(italic("WORK_TREE/.kvboost.toml"), "A repository's options; only those of taste count.") +
         item(italic("$XDG_DATA_HOME/kvboost/models"), "Model files.") +
         item(italic("$XDG_CACHE_HOME/kvboost"), "What was computed of files; may be deleted at any time.") +
         item(italic("$XDG_STATE_HOME/kvboost/kvboostd.log"), "The daemon's log.") +
         item(italic("$XDG_RUNTIME_DIR/kvboost/kvboostd.sock"), "The socket, open to you alone.");
}

std::string option_text(const Option& option) {
  std::string text = std::string(option.help) + ".";
  if (!option.allowed.empty()) text += " Takes " + std::string(option.allowed) + ".";
  text += option.default_value.empty() ? " Empty by default."
                                       : " Default: " + std::string(option.default_value) + ".";
  if (option.trust == Trust::kRepository) text += " A repository may set it.";
  return text;
}

}  // namespace

std::string manual_of_commands(const DocCommand& root, const std::string& version) {
  std::string text =
      header("KVBOOST", 1, version, "kvboost", "ask about a repository, answered by a local model");
  text += ".SH SYNOPSIS\n" + synopses(root);
  text += ".SH DESCRIPTION\n" + escaped(root.purpose) + ".\n";
  text += paragraph(
      "The work is done by a daemon, kvboostd(8), which the first command starts. It keeps what the "
      "model has read, so that the next question begins to be answered at once.");
  text += ".SH COMMANDS\n";
  for (const DocCommand& command : root.commands) text += section_of(command);
  text += ".SH OPTIONS OF EVERY COMMAND\n";
  for (const DocOption& option : root.options) text += item(term_of(option), option.help);
  text += ".SH EXIT STATUS\n";
  for (const ExitCodeRow& row : kExitCodes) text += item(bold(std::to_string(row.code)), row.meaning);
  text += ".SH ENVIRONMENT\n" + escaped(
                                    "Each option has a variable, KVBOOST_ and its name in capitals; see "
                                    "kvboost.toml(5). NO_COLOR switches colours off.\n");
  return text + files_section() + ".SH SEE ALSO\nkvboostd(8), kvboost.toml(5)\n";
}

std::string manual_of_daemon(const std::string& version) {
  std::string text =
      header("KVBOOSTD", 8, version, "kvboostd", "the daemon that answers kvboost's questions");
  text += ".SH SYNOPSIS\n" + bold("kvboostd") + " [" + italic("options") + "]\n";
  text += ".SH DESCRIPTION\n" +
          escaped(
              "There is one for each user. kvboost(1) starts it when it is needed; to start it by hand, use "
              "`kvboost daemon start`. It serves a Unix socket that only its user may open; with the option "
              "http also HTTP, on this machine alone.\n");
  text += paragraph("SIGTERM lets it finish what is running and leave; a second one makes it cancel that.");
  text += ".SH OPTIONS\n" + item(bold("--version"), "Show version and build.") +
          item(bold("--foreground"), "Stay in the terminal; errors go to standard error.");
  for (const Option& option : option_table()) {
    if (option.scope != Scope::kDaemon) continue;
    const std::string value = value_name(option);
    text += item(bold(flag_name(option)) + (value.empty() ? "" : " " + italic(value)), option_text(option));
  }
  return text + files_section() + ".SH SEE ALSO\nkvboost(1), kvboost.toml(5)\n";
}

std::string manual_of_options(const std::string& version) {
  std::string text = header("KVBOOST.TOML", 5, version, "kvboost.toml", "options of kvboost");
  text +=
      ".SH DESCRIPTION\n" +
      escaped(
          "One option a line, as name = value; text stands in quotes. `kvboost config` shows each option, "
          "its value and where that comes from; `kvboost config set NAME VALUE` writes it here.\n");
  text += paragraph(
      "Of several places the first one counts: a flag on the command line, a variable, the "
      "repository's .kvboost.toml, your own kvboost.toml, the default. A repository comes with other "
      "people's code: it may set only the options that say so, anything else in its file is ignored "
      "with a warning.");
  text += paragraph(
      "Sizes are bytes, or a number with K, M, G or T. Times are seconds, or a number with ms, s, m, h "
      "or d, such as 1h30m. Flags are true or false.");
  text += ".SH OPTIONS\n";
  for (const Option& option : option_table()) {
    text += item(bold(option.name), option_text(option) + " Flag: " + flag_name(option) +
                                        ". Variable: " + variable_name(option) + ".");
  }
  text += ".SH EXAMPLE\n.nf\n" +
          escaped(
              "# answer longer, with a bigger model\n"
              "model = \"qwen2.5-coder-1.5b\"\n"
              "max_tokens = 1000\n"
              "idle_unload = \"2h\"\n") +
          ".fi\n";
  return text + ".SH SEE ALSO\nkvboost(1), kvboostd(8)\n";
}

}  // namespace kvboost::cli
