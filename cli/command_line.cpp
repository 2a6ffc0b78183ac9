// SPDX-License-Identifier: Apache-2.0
#include "cli/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <optional>

#include "cli/cmd_ask.h"
#include "cli/cmd_bench.h"
#include "cli/cmd_cache.h"
#include "cli/cmd_complete.h"
#include "cli/cmd_config.h"
#include "cli/cmd_daemon.h"
#include "cli/cmd_doctor.h"
#include "cli/cmd_locate.h"
#include "cli/cmd_model.h"
#include "cli/cmd_status.h"
#include "cli/cmd_warm.h"
#include "cli/command_parts.h"
#include "cli/doc_tree.h"
#include "cli/help.h"
#include "cli/integration_commands.h"
#include "cli/mistake.h"
#include "cli/plain_word.h"

namespace kvboost::cli {
namespace {

constexpr const char* kPurpose =
    "Ask questions about the repository you stand in; a model on your own machine answers, and what it has "
    "read once "
    "it does not read again";

constexpr const char* kMoreOptions = "\nMore options, which every command takes: kvboost --help\n";
constexpr const char* kGlobalGroup = "Options of every command";
constexpr const char* kAnswerGroup = "How to answer";

void ask_command(CLI::App& root, Invocation& invocation) {
  CLI::App& app = add_command(root, "ask", "Ask a question about the repository you stand in",
                              "  kvboost ask \"where is the cache opened?\"\n"
                              "  kvboost ask \"what can go wrong here?\" src/parser.c include\n"
                              "  git diff | kvboost ask - src/\n"
                              "  kvboost ask --continue \"and on Windows?\"");
  auto arguments = bind(app, invocation, ask);
  app.add_option(
         "words", arguments->words,
         "The question (- reads it from standard input), then what to read: a file whole, if it fits, of a "
         "directory what fits the question best; without them, of the repository")
      ->type_name("QUESTION [PATH...]");
  app.add_option("-f,--file", arguments->file, "Read the question from a file; all words are paths then")
      ->type_name("FILE");
  app.add_flag("-c,--continue", arguments->continue_conversation,
               "Go on with this repository's last conversation");
  app.add_flag("--no-reuse", arguments->no_reuse, "Read every token anew and store nothing, to compare with");
  app.add_flag("-x,--explain", arguments->explain,
               "Tell on standard error what was read, reused, and how long it took");
  add_json_flag(app, arguments->json);
  add_table_options(app, invocation, Scope::kRequest, kAnswerGroup);
}

void locate_command(CLI::App& root, Invocation& invocation) {
  CLI::App& app =
      add_command(root, "locate", "Rank the files, and functions in them, that a bug report is about",
                  "  kvboost locate \"saving twice loses the second file\"\n"
                  "  kvboost locate --file report.txt --paths src --top 5\n"
                  "  make 2>&1 | kvboost locate --no-model --format quickfix -");
  auto arguments = bind(app, invocation, locate);
  app.add_option("report", arguments->report, "The report; - reads it from standard input")
      ->type_name("REPORT");
  app.add_option("-f,--file", arguments->file, "Read the report from a file")->type_name("FILE");
  app.add_option("-p,--paths", arguments->paths, "Only this file or directory; can be given several times")
      ->type_name("PATH")
      ->allow_extra_args(false);  // the report may stand behind it
  app.add_option("-n,--top", arguments->top, "How many files to name [10]")
      ->type_name("N")
      ->check(CLI::Range(1, 1000));
  app.add_option("--budget", arguments->budget, "Take what is known after so long: 5s, 2m")
      ->type_name("TIME");
  app.add_option("--format", arguments->format,
                 "text, or quickfix: path:line: text, as editors read it [text]")
      ->check(CLI::IsMember({"text", "quickfix"}))
      ->type_name("FORMAT");
  app.add_flag("--all", arguments->all, "Name tests, documents and generated files too");
  auto* no_model = app.add_flag("--no-model", arguments->no_model, "By words alone: milliseconds");
  auto* ask =
      app.add_flag("--ask", arguments->ask, "Then ask the model which of the first three files it is");
  ask->excludes(no_model);
  app.add_flag("--no-reuse", arguments->no_reuse, "Read every token anew and store nothing, to compare with");
  app.add_flag("-x,--explain", arguments->explain, "Show each ranking's scores, and how long it all took");
  ask->excludes(add_json_flag(app, arguments->json));
}

void complete_command(CLI::App& root, Invocation& invocation) {
  CLI::App& app =
      add_command(root, "complete", "Write what is missing at a place in a file, as an editor would show it",
                  "  kvboost complete --file src/main.c --offset 1200 < src/main.c\n"
                  "  kvboost complete --file src/main.c --saved --offset 1200 --explain\n"
                  "  kvboost complete --file new.py --alternatives 3 --budget 2s < buffer");
  auto arguments = bind(app, invocation, complete);
  app.add_option("-f,--file", arguments->file, "The file whose text is on standard input; it need not exist")
      ->type_name("FILE")
      ->required();
  app.add_option("-o,--offset", arguments->offset, "Bytes of the text in front of the cursor [all]")
      ->type_name("N");
  app.add_flag("--saved", arguments->saved, "Take the file as it is on disk instead of standard input");
  app.add_option("--shape", arguments->shape,
                 "What to write: a line, a block, or what the syntax asks for [auto]")
      ->check(CLI::IsMember({"auto", "line", "block"}))
      ->type_name("SHAPE");
  app.add_option("-n,--alternatives", arguments->alternatives, "How many to write at most [1]")
      ->type_name("N")
      ->check(CLI::Range(1, 16));
  app.add_option("--most", arguments->max_tokens, "Most tokens of each [48, or 192 of a block]")
      ->type_name("N")
      ->check(CLI::Range(1, 4096));
  app.add_option("--ring", arguments->ring,
                 "A place that was edited or looked at, the latest first; can be given several times")
      ->type_name("PATH[:LINE]")
      ->allow_extra_args(false);
  app.add_option("--budget", arguments->budget, "Take what is there after so long: 500ms, 2s")
      ->type_name("TIME");
  app.add_flag("--no-reuse", arguments->no_reuse, "Read every token anew and store nothing, to compare with");
  app.add_flag("-x,--explain", arguments->explain,
               "Tell on standard error what was read, reused, and how long it took");
  add_json_flag(app, arguments->json);
}

void warm_command(CLI::App& root, Invocation& invocation) {
  CLI::App& app = add_command(root, "warm", "Have the repository read ahead, so that questions need not wait",
                              "  kvboost warm\n"
                              "  kvboost warm src include\n"
                              "  kvboost warm --changed\n"
                              "  kvboost warm --since HEAD~10 --background");
  auto arguments = bind(app, invocation, warm);
  app.add_option("paths", arguments->paths, "Files or directories; without them, the whole repository")
      ->type_name("[PATH...]");
  CLI::Option* changed = app.add_flag("--changed", arguments->changed,
                                      "Only files that differ from the last commit, untracked ones included");
  app.add_option("--since", arguments->since, "Only files that differ from a commit, branch or tag")
      ->type_name("REVISION")
      ->excludes(changed);
  app.add_flag("-b,--background", arguments->background, "Do not wait for the end");
  app.add_flag("-n,--dry-run", arguments->dry_run, "Only say what would be computed");
  add_json_flag(app, arguments->json);
}

void cache_command(CLI::App& root, Invocation& invocation) {
  CLI::App& app = add_command(root, "cache", "Look at what is kept of the repositories, and take from it",
                              "  kvboost cache stats\n"
                              "  kvboost cache inspect src/main.c\n"
                              "  kvboost cache evict --older-than 30d --dry-run\n"
                              "  kvboost cache pin src/core");
  app.require_subcommand(1);
  const auto add = [&](const char* name, const char* purpose, int (*run)(Session&, const CacheArguments&)) {
    CLI::App& command = add_command(app, name, purpose);
    auto arguments = bind(command, invocation, run);
    add_json_flag(command, arguments->json);
    return std::pair<CLI::App&, CacheArguments&>(command, *arguments);  // the command's callback keeps them
  };
  const auto add_dry_run = [](CLI::App& command, CacheArguments& arguments) {
    command.add_flag("-n,--dry-run", arguments.dry_run, "Only count");
  };
  const auto with_path = [&](const char* name, const char* purpose,
                             int (*run)(Session&, const CacheArguments&), const char* what) {
    const auto [command, arguments] = add(name, purpose, run);
    command.add_option("path", arguments.path, what)->type_name("PATH")->required();
  };
  add("stats", "Show tiers, models and repositories", show_cache);
  with_path("inspect", "Show a file's chunks and where their blocks are", inspect_cache, "A file");
  const auto [evict, what] =
      add("evict", "Remove what fits all that is said; pinned paths stay", evict_cache);
  evict.add_option("paths", what.paths, "Of these files or directories")->type_name("[PATH...]");
  evict.add_option("--older-than", what.older_than, "Not used for so long: 30d, 12h")->type_name("TIME");
  evict.add_option("--namespace", what.model, "Of the model whose fingerprint begins so")
      ->type_name("DIGITS");
  evict.add_flag("--stale", what.stale, "That no repository refers to any more");
  add_dry_run(evict, what);
  const auto [clear, all] = add("clear", "Remove everything, after asking", clear_cache);
  clear.add_flag("-y,--yes", all.yes, "Do not ask");
  add_dry_run(clear, all);
  add("verify", "Read every record, and remove broken ones", verify_cache);
  with_path("pin", "Never evict a file or directory", pin_in_cache, "A file or directory");
  with_path("unpin", "Let it be evicted again", unpin_in_cache, "A file or directory");
}

void status_command(CLI::App& root, Invocation& invocation) {
  CLI::App& app = add_command(root, "status", "Show what the daemon is doing");
  auto arguments = bind(app, invocation, status);
  app.add_flag("--skipped", arguments->skipped,
               "Show what is left out of the repository you stand in, and why");
  app.add_flag("--if-running", arguments->if_running, "Start no daemon: exit with 3 if none is running");
  add_json_flag(app, arguments->json);
}

void daemon_command(CLI::App& root, Invocation& invocation) {
  CLI::App& app = add_command(root, "daemon", "Start, stop or look at the daemon",
                              "  kvboost daemon start --threads 4\n"
                              "  kvboost daemon logs -f");
  app.require_subcommand(1);
  CLI::App& start = add_command(app, "start", "Start the daemon, if it is not running");
  bind(start, invocation, start_daemon);
  CLI::App& stop =
      add_command(app, "stop", "End the daemon once it has finished its work, and wait for that");
  stop.add_flag("--now", bind(stop, invocation, stop_daemon)->now, "Cancel what is running");
  CLI::App& restart = add_command(app, "restart", "End the daemon and start it again");
  restart.add_flag("--now", bind(restart, invocation, restart_daemon)->now, "Cancel what is running");
  CLI::App& logs = add_command(app, "logs", "Show the end of the daemon's log");
  auto arguments = bind(logs, invocation, show_logs);
  logs.add_flag("-f,--follow", arguments->follow, "Go on as the log grows");
  logs.add_option("-n,--lines", arguments->lines, "How many lines [50]")
      ->type_name("N")
      ->check(CLI::NonNegativeNumber);
}

void model_command(CLI::App& root, Invocation& invocation) {
  CLI::App& app = add_command(root, "model", "List, add and choose model files (GGUF)",
                              "  kvboost model list\n"
                              "  kvboost model add ~/Downloads/Qwen2.5-Coder-1.5B-Q4_K_M.gguf\n"
                              "  kvboost model use qwen2.5-coder");
  app.require_subcommand(1);
  CLI::App& list =
      add_command(app, "list", "List the models on this machine, other programs' downloads among them");
  add_json_flag(list, bind(list, invocation, list_models)->json);
  const auto with_model = [&](const char* name, const char* purpose,
                              int (*run)(Session&, const ModelArguments&), const char* what) {
    CLI::App& command = add_command(app, name, purpose);
    auto arguments = bind(command, invocation, run);
    add_json_flag(command, arguments->json);
    return command.add_option("model", arguments->model, what)->type_name("NAME");
  };
  with_model("add", "Put a model file on the list, where it stands", add_model, "A GGUF file")
      ->type_name("FILE")
      ->required();
  with_model("use", "Answer with this model from now on", use_model,
             "A name of the list, its beginning, or a file")
      ->required();
  with_model("info", "Show a model's shape", show_model, "A name or a file; without it, the model in use");
}

void config_command(CLI::App& root, Invocation& invocation) {
  CLI::App& app =
      add_command(root, "config", "Show each option, its value and where that comes from; change it",
                  "  kvboost config\n"
                  "  kvboost config max_tokens\n"
                  "  kvboost config set max_tokens 1000\n"
                  "  kvboost config unset max_tokens");
  auto arguments = bind(app, invocation, show_config);
  app.add_option("name", arguments->name, "An option; without it, all of them")->type_name("OPTION");
  add_json_flag(app, arguments->json);
  CLI::App& set = add_command(app, "set", "Write an option into your configuration file");
  auto set_arguments = bind(set, invocation, set_config);
  set.add_option("name", set_arguments->name, "The option")->type_name("OPTION")->required();
  set.add_option("value", set_arguments->value, "Its value")->type_name("VALUE")->required();
  CLI::App& unset = add_command(app, "unset", "Take an option out of your configuration file");
  unset.add_option("name", bind(unset, invocation, unset_config)->name, "The option")
      ->type_name("OPTION")
      ->required();
}

void doctor_command(CLI::App& root, Invocation& invocation) {
  CLI::App& app =
      add_command(root, "doctor", "Check all that an answer needs, and say what to do where it is amiss");
  const auto arguments = bind(app, invocation, doctor);
  app.add_flag("--model", arguments->model,
               "Try what reuse of stored chunks does to the model's answers, and show the policy it gets");
  app.add_flag("--again", arguments->again, "With --model: although it was tried before");
  add_json_flag(app, arguments->json);
}

void bench_command(CLI::App& root, Invocation& invocation) {
  CLI::App& app = add_command(root, "bench", "Measure; `kvboost bench --help` lists the benchmarks");
  app.prefix_command();
  app.fallthrough(false);
  app.set_help_flag();  // the benchmark's own help is wanted
  app.callback([&app, &invocation] {
    invocation.run = [words = app.remaining()](Session& session) { return bench(session, words); };
  });
}

std::string exit_code_text() {
  std::string text = "Exit codes:\n";
  for (const ExitCodeRow& row : kExitCodes) {
    const std::string number = std::to_string(row.code);
    text += "  " + number + std::string(5 - number.size(), ' ') + std::string(row.meaning) + "\n";
  }
  return text + "\n`kvboost COMMAND --help` says more, with examples.";
}

/// `kvboost help ask` is `kvboost ask --help`, and behind "--" there are no options.
std::vector<std::string> words_of(int argc, const char* const* argv) {
  std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
  if (!words.empty() && words.front() == "help") {
    words.erase(words.begin());
    words.emplace_back("--help");
  }
  const auto dashes = std::ranges::find(words, "--");
  const bool of_a_benchmark = !words.empty() && words.front() == "bench";
  if (dashes == words.end() || of_a_benchmark) return words;
  std::ranges::transform(dashes + 1, words.end(), dashes + 1, mark_plain_word);
  words.erase(dashes);
  return words;
}

/// Takes the mark off the words that are no options, in this command and those below it.
void read_plain_words(CLI::App& app) {
  for (CLI::Option* option : app.get_options()) {
    if (option->get_positional()) option->transform(plain_word);
  }
  for (CLI::App* command : app.get_subcommands({})) read_plain_words(*command);
}

}  // namespace

CommandLine::CommandLine(std::string version)
    : version_(std::move(version)), app_(std::make_unique<CLI::App>(kPurpose, "kvboost")) {
  CLI::App& root = *app_;
  root.require_subcommand(0, 1);
  root.set_help_flag("-h,--help", "Show this help");
  root.set_version_flag("--version", version_, "Show version and build");
  root.footer(exit_code_text());
  ask_command(root, invocation_);
  locate_command(root, invocation_);
  complete_command(root, invocation_);
  warm_command(root, invocation_);
  status_command(root, invocation_);
  daemon_command(root, invocation_);
  model_command(root, invocation_);
  cache_command(root, invocation_);
  config_command(root, invocation_);
  doctor_command(root, invocation_);
  bench_command(root, invocation_);
  add_integration_commands(root, invocation_);
  add_table_options(root, invocation_, Scope::kClient, kGlobalGroup);
  add_table_options(root, invocation_, Scope::kDaemon, kGlobalGroup);
  read_plain_words(root);
}

CommandLine::~CommandLine() = default;

std::optional<int> CommandLine::parse(int argc, const char* const* argv) {
  std::vector<std::string> words = words_of(argc, argv);
  std::ranges::reverse(words);  // CLI11 takes them from the back
  try {
    app_->parse(words);
  } catch (const CLI::CallForHelp&) {
    const CLI::App& command = innermost(*app_);
    std::fputs(help_of(command, stdout).c_str(), stdout);
    if (&command != app_.get()) std::fputs(kMoreOptions, stdout);
    return kExitDone;
  } catch (const CLI::CallForVersion&) {
    std::fprintf(stdout, "%s\n", version_.c_str());
    return kExitDone;
  } catch (const CLI::ParseError& error) {
    return say_mistake(*app_, error);
  }
  if (invocation_.run) return std::nullopt;
  std::fputs(help_of(*app_, stderr).c_str(), stderr);
  return kExitUsage;
}

}  // namespace kvboost::cli
