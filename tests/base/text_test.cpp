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

}  // namespace
}  // namespace kvboost
