// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <random>

#include "cache/rank/bm25.h"

namespace kvboost::cache {
namespace {

using Words = std::vector<std::string>;

TEST(Words, SplitsAtCase) {
  EXPECT_EQ(words("parseHTTPRequest"), (Words{"parsehttprequest", "parse", "http", "request"}));
  EXPECT_EQ(words("Parser"), (Words{"parser"}));
  EXPECT_EQ(words("HTTP"), (Words{"http"}));
  EXPECT_EQ(words("ioError"), (Words{"ioerror", "io", "error"}));
}

TEST(Words, SplitsAtUnderscore) {
  EXPECT_EQ(words("read_text_file"), (Words{"read_text_file", "read", "text", "file"}));
  EXPECT_EQ(words("__init__"), (Words{"__init__", "init"}));
  EXPECT_EQ(words("_private"), (Words{"_private", "private"}));
  EXPECT_EQ(words("member_"), (Words{"member_", "member"}));
  EXPECT_EQ(words("MAX_SIZE"), (Words{"max_size", "max", "size"}));
  EXPECT_TRUE(words("___ _").empty());
}

TEST(Words, SplitsAtDigits) {
  EXPECT_EQ(words("sha256sum"), (Words{"sha256sum", "sha", "256", "sum"}));
  EXPECT_EQ(words("utf8"), (Words{"utf8", "utf"}));  // a part of one letter says nothing
  EXPECT_EQ(words("404"), (Words{"404"}));
}

TEST(Words, SeparatesAtPunctuation) {
  EXPECT_EQ(words("a.b->c(d, 'e')"), (Words{"a", "b", "c", "d", "e"}));
  EXPECT_EQ(words("cache/rank/bm25.cpp"), (Words{"cache", "rank", "bm25", "bm", "25", "cpp"}));
  EXPECT_TRUE(words("").empty());
  EXPECT_TRUE(words(" \n\t+-*/").empty());
}

TEST(Words, KeepsLettersOfOtherScripts) {
  EXPECT_EQ(words("Größe"), (Words{"größe"}));
  EXPECT_EQ(words("ÉTAT"), (Words{"état"}));
  EXPECT_EQ(words("ПриветМир"), (Words{"приветмир", "привет", "мир"}));
  EXPECT_EQ(words("Ωμέγα — ἀρχή"), (Words{"ωμέγα", "ἀρχή"}));
  EXPECT_EQ(words("“quoted” word…"), (Words{"quoted", "word"}));
}

TEST(Words, PairsCharactersOfScriptsWithoutSpaces) {
  EXPECT_EQ(words("読み込み。x"), (Words{"読み", "み込", "込み", "x"}));
  EXPECT_EQ(words("字"), (Words{"字"}));
  EXPECT_EQ(words("utf8文字列"), (Words{"utf8", "utf", "文字", "字列"}));
}

TEST(Words, LeavesOutData) {
  EXPECT_TRUE(words(std::string(65, 'a')).empty());
  EXPECT_EQ(words(std::string(64, 'a')), (Words{std::string(64, 'a')}));
  EXPECT_EQ(words(std::string(1 << 20, 'x') + " tail"), (Words{"tail"}));
}

TEST(Words, TakesIllFormedBytesForSeparators) {
  EXPECT_EQ(words("ab\xff"
                  "cd\xc3"),
            (Words{"ab", "cd"}));
  std::mt19937 random(7);
  for (int round = 0; round < 2000; ++round) {
    std::string noise(random() % 100, '\0');
    for (char& c : noise) c = static_cast<char>(random());
    for (const std::string& word : words(noise)) {
      EXPECT_FALSE(word.empty());
      EXPECT_LE(word.size(), 64U);
    }
  }
}

TEST(Words, HandlesAsManyPartsAsLetters) {
  std::string zigzag;
  for (int i = 0; i < 32; ++i) zigzag += "a1";
  EXPECT_EQ(words(zigzag), (Words{zigzag}));  // each part is one letter
}

}  // namespace
}  // namespace kvboost::cache
