// SPDX-License-Identifier: Apache-2.0
// The option table and the order in which its sources win, with real files and an environment of our own.
#include "base/config.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>

#include "tests/support/scratch_tree.h"

namespace kvboost {
namespace {

namespace fs = std::filesystem;

class ConfigTest : public testing::Test {
 protected:
  fs::path file(const std::string& name, const std::string& text) {
    std::ofstream(folder_ / name) << text;
    return folder_ / name;
  }
  ConfigSources sources() {
    ConfigSources all;
    all.environment = [this](std::string_view name) -> std::optional<std::string> {
      const auto found = environment_.find(std::string(name));
      return found == environment_.end() ? std::nullopt : std::optional(found->second);
    };
    return all;
  }
  static std::string message(const Result<Config>& config) { return config ? "" : config.error().text(); }

  const test::ScratchTree scratch_;
  const fs::path folder_ = scratch_.root();
  std::map<std::string, std::string> environment_;
};

TEST_F(ConfigTest, EveryDefaultIsAValueOfItsKind) {
  for (const Option& option : option_table()) {
    EXPECT_TRUE(check_value(option, option.default_value)) << option.name;
    EXPECT_EQ(find_option(option.name), &option);
    EXPECT_NE(option.help.back(), '.') << option.name;
  }
}

TEST_F(ConfigTest, NamesDeriveFromTheTable) {
  const Option& option = *find_option("max_file_size");
  EXPECT_EQ(flag_name(option), "--max-file-size");
  EXPECT_EQ(variable_name(option), "KVBOOST_MAX_FILE_SIZE");
}

TEST_F(ConfigTest, LaterSourcesWinAndSayWhere) {
  ConfigSources all = sources();
  all.user_file = file("kvboost.toml", "# mine\ntemperature = 0.25\nmax_tokens = 10\nseed = 1\ntop_k = 3\n");
  all.repository_file = file(".kvboost.toml", "max_tokens = 20\nseed = 2\ntop_k = 4\n");
  environment_ = {{"KVBOOST_SEED", "3"}, {"KVBOOST_TOP_K", "5"}};
  all.flags = {{"top_k", "6"}};
  const auto config = Config::load(all);
  ASSERT_TRUE(config) << message(config);
  EXPECT_EQ(config->number("temperature"), 0.25);
  EXPECT_EQ(config->value("temperature").where, (folder_ / "kvboost.toml").string() + ":2");
  EXPECT_EQ(config->integer("max_tokens"), 20);
  EXPECT_EQ(config->value("max_tokens").origin, Origin::kRepositoryFile);
  EXPECT_EQ(config->integer("seed"), 3);
  EXPECT_EQ(config->value("seed").where, "KVBOOST_SEED");
  EXPECT_EQ(config->integer("top_k"), 6);
  EXPECT_EQ(config->value("top_k").where, "--top-k");
  EXPECT_EQ(config->value("top_p").origin, Origin::kDefault);
  EXPECT_TRUE(config->warnings().empty());
}

TEST_F(ConfigTest, ARepositoryMaySetTasteButNotPower) {
  for (const Option& option : option_table()) {
    ConfigSources all = sources();
    const std::string value = option.kind == OptionKind::kInteger ? "7"
                              : option.kind == OptionKind::kNumber
                                  ? "0.5"
                                  : "\"" + std::string(option.default_value) + "\"";
    all.repository_file = file(".kvboost.toml", std::string(option.name) + " = " + value + "\n");
    const auto config = Config::load(all);
    ASSERT_TRUE(config) << message(config);
    if (option.trust == Trust::kRepository) {
      EXPECT_EQ(config->value(option.name).origin, Origin::kRepositoryFile) << option.name;
      EXPECT_TRUE(config->warnings().empty()) << option.name;
    } else {
      EXPECT_EQ(config->value(option.name).origin, Origin::kDefault) << option.name;
      ASSERT_EQ(config->warnings().size(), 1U) << option.name;
      EXPECT_NE(config->warnings()[0].find(std::string(option.name)), std::string::npos);
      EXPECT_NE(config->warnings()[0].find(".kvboost.toml:1"), std::string::npos);
    }
  }
}

TEST_F(ConfigTest, ABrokenRepositoryFileOnlyWarns) {
  for (const char* text :
       {"max_tokens = ", "max_tokens = \"many\"", "[table]\n", "nonsense = 1\n", "\xff\xfe"}) {
    ConfigSources all = sources();
    all.repository_file = file(".kvboost.toml", text);
    const auto config = Config::load(all);
    ASSERT_TRUE(config) << text << message(config);
    EXPECT_EQ(config->warnings().size(), 1U) << text;
    EXPECT_EQ(config->integer("max_tokens"), 512);
  }
}

TEST_F(ConfigTest, AFifoInARepositoryDoesNotHang) {
  ASSERT_EQ(::mkfifo((folder_ / ".kvboost.toml").c_str(), 0600), 0);
  ConfigSources all = sources();
  all.repository_file = folder_ / ".kvboost.toml";
  const auto config = Config::load(all);
  ASSERT_TRUE(config);
  EXPECT_EQ(config->warnings().size(), 1U);
}

TEST_F(ConfigTest, AVariableThatIsNoOptionIsWarnedOf) {
  ConfigSources all = sources();
  all.variables = {"KVBOOST_MAX_TOKNS", "KVBOOST_MAX_TOKENS", "KVBOOST_TEST_MODEL", "KVBOOST_JOBS",
                   "KVBOOST_XYZZY"};
  const auto config = Config::load(all);
  ASSERT_TRUE(config);
  EXPECT_EQ(config->warnings(), (std::vector<std::string>{
                                    "there is no option behind the variable KVBOOST_MAX_TOKNS; did you mean "
                                    "KVBOOST_MAX_TOKENS?",
                                    "there is no option behind the variable KVBOOST_XYZZY"}));
  ::setenv("KVBOOST_XYZZY", "1", 1);
  const auto found = Config::process_sources().variables;
  EXPECT_NE(std::ranges::find(found, "KVBOOST_XYZZY"), found.end());
  ::unsetenv("KVBOOST_XYZZY");
}

TEST_F(ConfigTest, ErrorsNameFileLineAndRemedy) {
  const std::map<std::string, std::string> cases = {
      {"\nthreads = \"two\"\n",
       "kvboost.toml:2: 'two' is no value for threads: it takes a whole number from 0 to 4096"},
      {"threads = \"99999999999999999999\"\n", "it takes a whole number from 0 to 4096"},
      {"seed = -1\n", "it takes a whole number from 0 on"},
      {"compute = \"fp8\"\n", "it takes one of auto|bf16|f32"},
      {"temperature = 99\n", "it takes a number from 0 to 10"},
      {"threads = -1\n", "a whole number from 0 to 4096"},
      {"max_memory = \"lots\"\n", "it takes a size (write bytes or"},
      {"max_memory = 1\n",
       "'1' is no value for max_memory: it takes a size from 4M on (a number alone means bytes"},
      {"max_disk = 5\n", "it takes 0, or a size from 1M on"},
      {"idle_exit = \"soon\"\n", "it takes a duration (write seconds"},
      {"save_conversations = \"maybe\"\n", "it takes yes or no"},
      {"thread = 2\n", "there is no option 'thread' (did you mean 'threads'?)"},
      {"threads = 1\nthreads = 2\n", "kvboost.toml:2: "},
      {"threads = [1, 2]\n", "kvboost.toml:1: 'threads' is no single value"},
      {"threads = 1979-05-27\n", "is no single value"},
      {"model = \"a\\u0000b\"\n", "NUL"},
  };
  for (const auto& [text, expected] : cases) {
    ConfigSources all = sources();
    all.user_file = file("kvboost.toml", text);
    const auto config = Config::load(all);
    ASSERT_FALSE(config) << text;
    EXPECT_EQ(config.error().code, ErrorCode::kInvalidArgument);
    EXPECT_NE(message(config).find(expected), std::string::npos) << message(config);
  }
}

TEST_F(ConfigTest, FlagsAndVariablesAreCheckedToo) {
  ConfigSources all = sources();
  all.flags = {{"top_p", "2"}};
  EXPECT_NE(message(Config::load(all)).find("--top-p: '2'"), std::string::npos);
  all.flags = {{"bogus", "2"}};
  EXPECT_NE(message(Config::load(all)).find("'bogus'"), std::string::npos);
  all.flags.clear();
  environment_ = {{"KVBOOST_THREADS", "9999999999999999999999"}};
  EXPECT_NE(message(Config::load(all)).find("KVBOOST_THREADS: "), std::string::npos);
  environment_ = {{"KVBOOST_THREADS", ""}};
  EXPECT_TRUE(Config::load(all));
}

TEST_F(ConfigTest, TypedReadings) {
  ConfigSources all = sources();
  all.flags = {{"max_memory", "1.5G"}, {"idle_exit", "1h30m"}, {"save_conversations", "yes"}, {"seed", "42"}};
  const auto config = Config::load(all);
  ASSERT_TRUE(config) << message(config);
  EXPECT_EQ(config->bytes("max_memory"), 1'500'000'000U);
  EXPECT_EQ(config->seconds("idle_exit"), 5400);
  EXPECT_TRUE(config->flag("save_conversations"));
  EXPECT_FALSE(config->flag("force_tokenizer"));
  EXPECT_EQ(config->integer("seed"), 42);
}

TEST_F(ConfigTest, TheRepositoryFileIsFoundFromBelow) {
  fs::create_directories(folder_ / "repo/.git");
  fs::create_directories(folder_ / "repo/a/b");
  file("repo/.kvboost.toml", "seed = 9\n");
  file("repo/a/.kvboost.toml", "seed = 8\n");
  const auto found = Config::process_sources(folder_ / "repo/a/b").repository_file;
  ASSERT_TRUE(found);
  EXPECT_EQ(*found, folder_ / "repo/.kvboost.toml");
  EXPECT_FALSE(Config::process_sources().repository_file);
}

TEST_F(ConfigTest, AnUnknownNameIsADefect) {
  const auto config = Config::load(sources());
  ASSERT_TRUE(config);
  EXPECT_DEATH((void)config->value("no_such_option"), "no_such_option");
}

}  // namespace
}  // namespace kvboost
