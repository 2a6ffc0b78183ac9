// SPDX-License-Identifier: Apache-2.0
#include "base/text.h"

#include <gtest/gtest.h>

namespace kvboost {
namespace {

TEST(Text, OnlyAsciiLettersBecomeLower) {
  EXPECT_EQ(ascii_lower("Az[`@{_09 \xC3\x84\xFF"), "az[`@{_09 \xC3\x84\xFF");
}

TEST(Text, ABeginningCutsNoCharacter) {
  const std::string_view text = "a\xC3\xA4\xF0\x9F\x8D\x92";
  EXPECT_EQ(utf8_beginning(text, 99), text);
  EXPECT_EQ(utf8_beginning(text, 7), text);
  for (const std::size_t most : {3, 4, 6}) EXPECT_EQ(utf8_beginning(text, most), "a\xC3\xA4");
  EXPECT_EQ(utf8_beginning(text, 2), "a");
  EXPECT_EQ(utf8_beginning(text, 0), "");
  EXPECT_EQ(utf8_beginning("\x80\x80", 1), "");  // no character begins there
}

TEST(Text, FormattedTextHasAnyLength) {
  EXPECT_EQ(formatted("%s", ""), "");
  EXPECT_EQ(formatted("%.2f of %d", 1.5, 3), "1.50 of 3");
  EXPECT_EQ(formatted("%s!", std::string(5000, 'x').c_str()), std::string(5000, 'x') + "!");
}

TEST(Text, BlanksAtBothEndsAreTakenOff) {
  EXPECT_EQ(trimmed(" \t a b\r\n"), "a b");
  EXPECT_EQ(trimmed(" \n\v\f"), "");
  EXPECT_EQ(trimmed(""), "");
  EXPECT_EQ(trimmed("\n a \n", " "), "\n a \n");
}

TEST(Text, AnyOfTheWordsWillDo) {
  EXPECT_TRUE(contains_any("class_body", {"block", "body"}));
  EXPECT_FALSE(contains_any("class", {"block", "body"}));
  EXPECT_FALSE(contains_any("class", {}));
}

TEST(Text, LinesAreCountedFrom1) {
  EXPECT_EQ(line_number("a\nb\n", 0), 1);
  EXPECT_EQ(line_number("a\nb\n", 1), 1);
  EXPECT_EQ(line_number("a\nb\n", 2), 2);
  EXPECT_EQ(line_number("a\nb\n", 99), 3);
}

TEST(Text, AShellTakesItForOneWord) {
  EXPECT_EQ(shell_word("a b"), "'a b'");
  EXPECT_EQ(shell_word("it's"), "'it'\\''s'");
  EXPECT_EQ(shell_word(""), "''");
}

}  // namespace
}  // namespace kvboost
