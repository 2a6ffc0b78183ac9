// SPDX-License-Identifier: Apache-2.0
#include "engine/tokenizer/utf8.h"

#include <gtest/gtest.h>

#include "engine/tokenizer.h"

namespace kvboost::engine {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

TEST(WellFormedPrefix, GoesOnThroughEveryLengthOfCharacter) {
  const std::string_view text = "plain, ü, ក, 😀, and plain again, long enough for whole words";
  EXPECT_EQ(well_formed_prefix(text), text.size());
  EXPECT_EQ(well_formed_prefix(""), 0U);
}

TEST(WellFormedPrefix, StopsWhereTheStandardSaysSo) {
  for (const std::string_view bad :
       {"\x80", "\xC0\xAF", "\xC1\xBF", "\xE0\x80\xAF", "\xED\xA0\x80", "\xF0\x80\x80\xAF",
        "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xFF", "\xE2\x82", "\xE2\x82x", "\xF0\x9F\x98"}) {
    const std::string text = "12345678 ü" + std::string(bad) + "tail";
    EXPECT_EQ(well_formed_prefix(text), 11U) << testing::PrintToString(bad);
  }
}

TEST(FirstCharacter, IsAsLongAsItsLeadByteSays) {
  EXPECT_EQ(first_character("ab"), 1U);
  EXPECT_EQ(first_character("üb"), 2U);
  EXPECT_EQ(first_character("ក"), 3U);
  EXPECT_EQ(first_character("😀"), 4U);
}

TEST(Utf8Stream, GivesWholeCharactersHoweverTheyArrive) {
  const std::string text = "aü€😀z";
  Utf8Stream stream;
  std::string joined;
  for (const char byte : text) {
    const std::string whole = stream.push({&byte, 1});
    EXPECT_EQ(well_formed_prefix(whole), whole.size());
    joined += whole;
  }
  EXPECT_EQ(joined + stream.flush(), text);
}

TEST(Utf8Stream, ReplacesIllFormedBytesAndGoesOn) {
  Utf8Stream stream;
  EXPECT_EQ(stream.push("a\xFF"
                        "b"),
            "a" + std::string(kReplacement) + "b");
  EXPECT_EQ(stream.push("\xE2\x82"), "");
  EXPECT_EQ(stream.push("x"), std::string(kReplacement) + std::string(kReplacement) + "x");
}

TEST(Utf8Stream, FlushGivesAnUnfinishedCharacterOnce) {
  Utf8Stream stream;
  EXPECT_EQ(stream.push("a\xF0\x9F\x98"), "a");
  EXPECT_EQ(stream.flush(), kReplacement);
  EXPECT_EQ(stream.flush(), "");
  EXPECT_EQ(stream.push("b"), "b");
}

}  // namespace
}  // namespace kvboost::engine
