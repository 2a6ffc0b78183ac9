// SPDX-License-Identifier: Apache-2.0
// Reading the configuration file, and changing one option of it in place.
#include "base/config_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/support/scratch_tree.h"

namespace kvboost {
namespace {

namespace fs = std::filesystem;

std::string edited(std::string_view text, std::string_view name, const std::optional<std::string>& value) {
  const auto result = edit_config(text, "f.toml", name, value);
  return result ? *result : "ERROR " + result.error().text();
}

TEST(ConfigFile, ScalarsComeAsText) {
  const auto entries = parse_config(
      "threads = 4\n\ntemperature=0.7 # warm\nmodel = 'a b'\nforce_tokenizer = true\n", "f.toml");
  ASSERT_TRUE(entries) << entries.error().text();
  ASSERT_EQ(entries->size(), 4U);
  EXPECT_EQ((*entries)[0].text, "4");
  EXPECT_EQ((*entries)[1].text, "0.7");
  EXPECT_EQ((*entries)[1].line, 3);
  EXPECT_EQ((*entries)[2].text, "a b");
  EXPECT_EQ((*entries)[3].text, "true");
}

TEST(ConfigFile, SetKeepsEverythingElse) {
  const std::string text =
      "# my settings\nthreads = 4  # cores\n\nmodel = \"ü/old.gguf\"   # the ü one\nseed=1";
  EXPECT_EQ(edited(text, "threads", "12"),
            "# my settings\nthreads = 12  # cores\n\nmodel = \"ü/old.gguf\"   # the ü one\nseed=1");
  EXPECT_EQ(edited(text, "model", "new\"q\\.gguf"),
            "# my settings\nthreads = 4  # cores\n\nmodel = \"new\\\"q\\\\.gguf\"   # the ü one\nseed=1");
  EXPECT_EQ(edited(text, "seed", "2"),
            "# my settings\nthreads = 4  # cores\n\nmodel = \"ü/old.gguf\"   # the ü one\nseed=2");
}

TEST(ConfigFile, AnAbsentOptionIsAppended) {
  EXPECT_EQ(edited("", "max_memory", "5G"), "max_memory = \"5G\"\n");
  EXPECT_EQ(edited("seed = 1", "force_tokenizer", "yes"), "seed = 1\nforce_tokenizer = true\n");
  EXPECT_EQ(edited("", "temperature", ".5"), "temperature = 0.5\n");
}

TEST(ConfigFile, UnsetTakesTheLineOut) {
  EXPECT_EQ(edited("a = 1\nseed = 2 # x\nb = 3\n", "seed", std::nullopt), "a = 1\nb = 3\n");
  EXPECT_EQ(edited("seed = 2", "seed", std::nullopt), "");
  EXPECT_EQ(edited("a = 1\n", "seed", std::nullopt), "a = 1\n");
  EXPECT_EQ(edited("model = \"\"\"\nx\ny\"\"\"\nseed = 1\n", "model", std::nullopt), "seed = 1\n");
}

TEST(ConfigFile, CarriageReturnsAndByteOrderMarkSurvive) {
  EXPECT_EQ(edited("\xEF\xBB\xBFseed = 1", "seed", "2"), "\xEF\xBB\xBFseed = 2");
  EXPECT_EQ(edited("\xEF\xBB\xBFseed = 1\r\ntop_k = 2\r\n", "top_k", "3"),
            "\xEF\xBB\xBFseed = 1\r\ntop_k = 3\r\n");
}

TEST(ConfigFile, ABrokenFileIsNotTouched) {
  EXPECT_TRUE(edited("seed = = 1\n", "seed", "2").starts_with("ERROR f.toml:1: "));
  EXPECT_TRUE(edited("[t]\nx = 1\n", "seed", "2").starts_with("ERROR f.toml:1: this is not name = value"));
  EXPECT_TRUE(edited("", "model", "\xff").starts_with("ERROR "));
}

TEST(ConfigFile, ABackslashSkipsNoBlanks) {
  for (const char* value : {"\"\"\"a\\\n b\"\"\"", "\"\"\"a\\ \xce\x8b\"\"\"", "\"\"\"\\\t\xce\x8b\"\"\"",
                            "\"\"\"\\\xd0\x89 \"\"\""}) {
    const auto entries = parse_config(std::string("x = 1\nmodel = ") + value + "\n", "f.toml");
    ASSERT_FALSE(entries) << value;
    EXPECT_TRUE(entries.error().message.starts_with("f.toml:2: ")) << entries.error().message;
  }
  const auto fine = parse_config("model = \"a\\n b \\\\ c\"\n", "f.toml");
  ASSERT_TRUE(fine) << fine.error().message;
  EXPECT_EQ(fine->front().text, "a\n b \\ c");
}

TEST(ConfigFile, OnlyTextAndCommentsGoBeyondAscii) {
  const auto outcome = [](std::string_view text) {
    const auto entries = parse_config(text, "f.toml");
    return entries ? std::string("fine") : entries.error().message.substr(0, 8);
  };
  EXPECT_EQ(
      outcome("\xEF\xBB\xBFmodel = \"ü\" # ü \"\nx = '''\n'ü''''\ny = \"\"\"\\\"ü\"\"\"\"\"\nz='\\' # ü\n"),
      "fine");
  EXPECT_EQ(outcome("a = 1\nü = 2\n"), "f.toml:2");
  EXPECT_EQ(outcome("a = 1\xc2\xa0\n"), "f.toml:1");
  EXPECT_EQ(outcome("b = 1\x1f"
                    "79-05-2= 1 # S\xef\xbb\xbdt\xdb\x87\n"),
            "f.toml:1");
  EXPECT_EQ(outcome("a = \"x\n ü = \"\n"), "f.toml:1");
}

TEST(ConfigFile, WritesThroughALinkAndKeepsPrivate) {
  const test::ScratchTree scratch;
  const fs::path& folder = scratch.root();
  const fs::path file = folder / "sub" / "kvboost.toml";
  ASSERT_TRUE(edit_config_file(file, "seed", "1"));
  fs::rename(file, folder / "real.toml");
  fs::create_symlink(folder / "real.toml", file);
  ASSERT_TRUE(edit_config_file(file, "seed", "2"));
  EXPECT_TRUE(fs::is_symlink(file));
  std::ostringstream content;
  content << std::ifstream(folder / "real.toml").rdbuf();
  EXPECT_EQ(content.str(), "seed = 2\n");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder), fs::directory_iterator()), 2);  // no temporary left
}

TEST(ConfigFile, UnreadableFilesAreErrors) {
  EXPECT_FALSE(read_config_file("/nonexistent/kvboost.toml"));
  EXPECT_FALSE(read_config_file("/dev/zero"));
  EXPECT_FALSE(read_config_file("/"));
}

}  // namespace
}  // namespace kvboost
