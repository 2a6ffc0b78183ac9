// SPDX-License-Identifier: Apache-2.0
#include "daemon/prompt/report.h"

#include <gtest/gtest.h>

#include "daemon/prompt/file_ranking.h"
#include "daemon/prompt/functions.h"

namespace kvboost::daemon {
namespace {

using Places = std::vector<std::pair<std::string, int>>;

Places places(std::string_view text) {
  Places found;
  for (const NamedPlace& place : read_report(text).places) found.emplace_back(place.path, place.line);
  return found;
}

TEST(Report, ReadsStackTracesOfManyLanguages) {
  EXPECT_EQ(places("  File \"/usr/lib/python3/app/io.py\", line 112, in save\n"),
            (Places{{"/usr/lib/python3/app/io.py", 112}}));
  EXPECT_EQ(places("    at save (/srv/app/lib/io.js:12:7)\n"), (Places{{"/srv/app/lib/io.js", 12}}));
  EXPECT_EQ(places("\tat org.app.Io.save(Io.java:33)\n").back(), (Places::value_type{"Io.java", 33}));
  EXPECT_EQ(places("#3 0x0000 in save (n=1) at src/io.c:7\n"), (Places{{"src/io.c", 7}}));
  EXPECT_EQ(places("\t/go/src/app/io.go:99 +0x1d\n"), (Places{{"/go/src/app/io.go", 99}}));
  EXPECT_EQ(places("src/io.cpp:5:2: error: no such thing\n"), (Places{{"src/io.cpp", 5}}));
  EXPECT_EQ(places("File \"C:\\app\\io.py\", line 3\n").front().first.substr(2), "/app/io.py");
  EXPECT_EQ(places("It fails. Always. At noon: 12:30."), Places());
}

TEST(Report, LeavesOutWhatTheFormIsMadeOf) {
  const Report report = read_report(
      "<!-- Thank you\nfor writing! -->\n**Describe the bug**\nSaving twice loses data\n\n- [ ] a feature\n"
      "[x] a bug\n### To Reproduce\n```python\nsave()\n```\n---\n");
  EXPECT_EQ(report.text, "Saving twice loses data\nsave()\n");
}

TEST(Report, OfNothingButHeadingsIsTakenAsItIs) {
  EXPECT_EQ(read_report("## Version").text, "## Version");
  EXPECT_EQ(read_report("").text, "");
}

TEST(Report, GivesTitleAndQuotesMoreWeight) {
  const Report report = read_report("Lost update\nIt's in `save_all`, they don't see \"disk full\"\n");
  ASSERT_EQ(report.query.size(), 3U);
  EXPECT_EQ(report.query[1].text, "Lost update");
  EXPECT_EQ(report.query[2].text, "save_all\ndisk full\n");
}

TEST(Report, OfAnySortIsReadInOneGo) {
  std::string junk(100'000, '\0');
  for (std::size_t i = 0; i < junk.size(); ++i) junk[i] = static_cast<char>(i * 2654435761U >> 13);
  std::string quotes;
  std::string names;
  for (int i = 0; i < 20'000; ++i) {
    quotes += "'\"`x";
    names += "a" + std::to_string(i) + ".c:1 ";
  }
  std::string script;
  for (int i = 0; i < 10'000; ++i) script += "保存すると消える ";
  for (const std::string& text : {junk, quotes, names, script}) (void)read_report(text);
  EXPECT_LE(read_report(names).places.size(), 1'000U);
  EXPECT_FALSE(read_report(script).query.front().text.empty());
}

TEST(FileRanking, AddsUpAFilesSpans) {
  const std::vector<RankedSpan> spans = {{"a", 0, 9, 10}, {"b", 0, 9, 9}, {"b", 9, 20, 8}, {"c", 0, 9, 1}};
  const auto files = rank_files(spans, [](const std::string& path) { return path != "c"; });
  ASSERT_EQ(files.size(), 2U);
  EXPECT_EQ(files[0].path, "b");
  EXPECT_EQ(files[0].spans.size(), 2U);
  EXPECT_EQ(files[1].score, 10);
}

constexpr std::string_view kSource =
    "class Store:\n    def load(self):\n        return self.data\n\n    def save(self, twice):\n"
    "        self.data = twice\n\n\ndef main():\n    Store().load()\n";

TEST(Functions, AreThoseWithTheWordsOrTheLine) {
  const std::vector<cache::QueryPart> query = {{"saving twice"}};
  const auto by_words = find_functions("store.py", kSource, query, 0, 3);
  ASSERT_FALSE(by_words.empty());
  EXPECT_EQ(by_words[0].name, "save");
  EXPECT_EQ(by_words[0].first_line, 5);
  EXPECT_EQ(by_words[0].last_line, 6);
  const auto by_line = find_functions("store.py", kSource, query, 3, 3);
  ASSERT_EQ(by_line.size(), 2U);
  EXPECT_EQ(by_line[0].name, "load") << "the innermost one around line 3";
  EXPECT_EQ(by_line[1].name, "save");
}

TEST(Functions, OfATextWithoutGrammarAreNone) {
  EXPECT_TRUE(find_functions("notes.unknown", kSource, {}, 3, 3).empty());
  EXPECT_TRUE(find_functions("store.py", "", {}, 1, 3).empty());
  EXPECT_TRUE(find_functions("store.py", kSource, {}, 1'000, 3).empty());
}

}  // namespace
}  // namespace kvboost::daemon
