// SPDX-License-Identifier: Apache-2.0
// What the command line accepts, what it says to mistakes, and what is derived from it.
#include "cli/command_line.h"

#include <gtest/gtest.h>

#include "cli/completions.h"
#include "cli/doc_tree.h"
#include "cli/manual.h"

namespace kvboost::cli {
namespace {

struct Parsed {
  std::optional<int> code;
  std::map<std::string, std::string> flags;
  bool runs = false;
  std::string out;
  std::string err;
};

Parsed parse(std::vector<const char*> words) {
  words.insert(words.begin(), "kvboost");
  CommandLine line("kvboost 1.2.3");
  Parsed parsed;
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  parsed.code = line.parse(static_cast<int>(words.size()), words.data());
  parsed.out = testing::internal::GetCapturedStdout();
  parsed.err = testing::internal::GetCapturedStderr();
  parsed.flags = line.invocation().flags;
  parsed.runs = static_cast<bool>(line.invocation().run);
  return parsed;
}

TEST(CommandLineTest, OptionsOfTheTableAreFlags) {
  const Parsed parsed = parse(
      {"ask", "why?", "--temperature", "0.5", "--seed=7", "--threads", "2", "--force-tokenizer", "src"});
  EXPECT_FALSE(parsed.code) << parsed.err;
  EXPECT_TRUE(parsed.runs);
  EXPECT_EQ(parsed.flags,
            (std::map<std::string, std::string>{
                {"temperature", "0.5"}, {"seed", "7"}, {"threads", "2"}, {"force_tokenizer", "yes"}}));
  EXPECT_EQ(parse({"--model", "x", "status"}).flags.at("model"), "x");
}

TEST(CommandLineTest, EveryOptionOfTheTableIsAFlagOfAsk) {
  for (const Option& option : option_table()) {
    const std::string flag = flag_name(option);
    const std::string value(option.default_value.empty() ? "x" : option.default_value);
    std::vector<const char*> words = {"ask", "why?", flag.c_str()};
    if (option.kind != OptionKind::kFlag) words.push_back(value.c_str());
    EXPECT_EQ(parse(words).flags.count(std::string(option.name)), 1U) << flag;
  }
}

TEST(CommandLineTest, WarmAndCacheRun) {
  for (const auto& words : {std::vector<const char*>{"warm"},
                            {"warm", "src", "include", "--dry-run", "--json"},
                            {"warm", "--since", "HEAD~1", "-b"},
                            {"cache", "evict", "src", "--older-than", "30d", "--namespace", "9f", "--stale"},
                            {"cache", "clear", "-y"},
                            {"cache", "pin", "."},
                            {"status", "--skipped"}}) {
    const Parsed parsed = parse(words);
    EXPECT_FALSE(parsed.code) << parsed.err;
    EXPECT_TRUE(parsed.runs);
  }
}

TEST(CommandLineTest, ADashIsAWord) {
  const Parsed parsed = parse({"ask", "-", "src"});
  EXPECT_FALSE(parsed.code) << parsed.err;
}

TEST(CommandLineTest, BehindTwoDashesThereAreNoOptions) {
  const Parsed parsed = parse({"ask", "--seed", "7", "why?", "--", "--temperature", "-x", "src"});
  EXPECT_FALSE(parsed.code) << parsed.err;
  EXPECT_EQ(parsed.flags, (std::map<std::string, std::string>{{"seed", "7"}}));
  EXPECT_FALSE(parse({"ask", "--", "--help"}).code);
  EXPECT_FALSE(parse({"warm", "--", "-n"}).code);
  EXPECT_FALSE(parse({"config", "set", "model", "--", "-m"}).code);
  EXPECT_EQ(parse({"warm", "--", "a", "--", "b"}).code, std::nullopt);
}

TEST(CommandLineTest, MistakesNameWhatWasProbablyMeant) {
  const auto says = [](std::vector<const char*> words, const char* expected) {
    const Parsed parsed = parse(std::move(words));
    EXPECT_EQ(parsed.code, kExitUsage);
    EXPECT_NE(parsed.err.find(expected), std::string::npos) << parsed.err;
    EXPECT_EQ(parsed.out, "");
  };
  says({"stauts"}, "there is no command stauts in `kvboost`; did you mean status?");
  says({"daemon", "strat"}, "there is no command strat in `kvboost daemon`; did you mean start?");
  says({"ask", "x", "--temprature=1"},
       "there is no option --temprature in `kvboost ask`; did you mean --temperature?");
  says({"status", "--jsn"}, "did you mean --json?");
  says({"status", "--thread"}, "did you mean --threads?");
  for (const char* word : {"-v", "-V", "version"})
    says({word}, "`kvboost --version` shows version and build");
  says({"status", "extra"}, "one word too many: extra");
  says({"status", "--", "--json"}, "one word too many: --json");
  says({"daemon"}, "`kvboost daemon` wants one of: start, stop, restart, logs");
  says({"model", "use"}, "required");
  says({"warm", "--changed", "--since", "HEAD~1"}, "--changed");
  says({"cache", "sweep"}, "there is no command sweep in `kvboost cache`");
  says({"cache", "inspect"}, "required");
  says({"cache", "inspect", "a", "b"}, "one word too many: b");
  says({"daemon", "logs", "-n", "-5"}, "kvboost daemon logs --help");
  says({"\x1b[31m"}, "\\x1b[31m");
}

TEST(CommandLineTest, NothingAtAllShowsHelp) {
  const Parsed parsed = parse({});
  EXPECT_EQ(parsed.code, kExitUsage);
  EXPECT_NE(parsed.err.find("ask"), std::string::npos);
}

TEST(CommandLineTest, HelpAndVersionGoToStandardOutput) {
  EXPECT_EQ(parse({"--version"}).out, "kvboost 1.2.3\n");
  for (const auto& words :
       {std::vector<const char*>{"ask", "--help"}, std::vector<const char*>{"help", "ask"}}) {
    const Parsed parsed = parse(words);
    EXPECT_EQ(parsed.code, kExitDone);
    EXPECT_NE(parsed.out.find("kvboost ask --continue"), std::string::npos) << parsed.out;
    EXPECT_NE(parsed.out.find("--min-p"), std::string::npos);
  }
  EXPECT_NE(parse({"--help"}).out.find("130"), std::string::npos);  // the exit codes
}

TEST(CommandLineTest, BenchPassesEverythingOn) {
  const Parsed parsed = parse({"bench", "engine", "--help", "--peer", "x"});
  EXPECT_FALSE(parsed.code) << parsed.err << parsed.out;
  EXPECT_TRUE(parsed.runs);
}

class DocsTest : public testing::Test {
 protected:
  CommandLine line_{""};
  DocCommand root_ = describe(line_.app());
};

TEST_F(DocsTest, TheTreeHasEveryCommandAndOption) {
  ASSERT_EQ(root_.commands.front().name, "ask");
  EXPECT_EQ(root_.commands.front().path, "kvboost ask");
  EXPECT_EQ(root_.commands.front().positionals.front().value, "QUESTION [PATH...]");
  std::size_t nested = 0;
  for (const DocCommand& command : root_.commands) nested += command.commands.size();
  EXPECT_EQ(nested, 4U + 4U + 7U + 2U + 3U);  // daemon, model, cache, config; hook without what git calls
}

TEST_F(DocsTest, ManualsNameEverything) {
  const std::string commands = manual_of_commands(root_, "1");
  for (const DocCommand& command : root_.commands) {
    EXPECT_NE(commands.find(".SS \\fBkvboost " + command.name), std::string::npos) << command.name;
  }
  const std::string options = manual_of_options("1");
  for (const Option& option : option_table()) {
    EXPECT_NE(options.find("\\fB" + std::string(option.name) + "\\fR"), std::string::npos) << option.name;
    EXPECT_NE(options.find(variable_name(option)), std::string::npos);
  }
  EXPECT_NE(manual_of_daemon("1").find("\\-\\-idle\\-exit"), std::string::npos);
  EXPECT_EQ(manual_of_daemon("1").find("\\-\\-temperature"), std::string::npos);  // comes with each request
}

TEST_F(DocsTest, CompletionsNameEverything) {
  for (const std::string& text : {bash_completion(root_), zsh_completion(root_), fish_completion(root_)}) {
    for (const char* word : {"status", "restart", "unset", "follow", "max_tokens", "bf16", "explain",
                             "background", "older-than"}) {
      EXPECT_NE(text.find(word), std::string::npos) << word;
    }
  }
}

}  // namespace
}  // namespace kvboost::cli
