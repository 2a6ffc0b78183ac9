// SPDX-License-Identifier: Apache-2.0
#include "daemon/prompt/edit_buffer.h"

#include <gtest/gtest.h>

namespace kvboost::daemon {
namespace {

TEST(EditBuffer, TheOffsetIsClampedToTheTextAndToACharacter) {
  EXPECT_EQ(EditBuffer("abc", -5).offset(), 0U);
  EXPECT_EQ(EditBuffer("abc", 99).offset(), 3U);
  const std::string cherry = "\"\xF0\x9F\x8D\x92";  // a quote, then four bytes
  EXPECT_EQ(EditBuffer(cherry, 5).offset(), 5U);
  for (const std::int64_t within : {2, 3, 4}) EXPECT_EQ(EditBuffer(cherry, within).offset(), 1U);
  const std::string separator =
      "a\xE2\x80\xA8"
      "b";  // U+2028
  EXPECT_EQ(EditBuffer(separator, 3).before(), "a");
  EXPECT_EQ(EditBuffer("\x80\x80\x80\x80\x80\x80", 5).offset(), 5U) << "no UTF-8: each byte for itself";
  EXPECT_EQ(EditBuffer("", 3).offset(), 0U);
}

TEST(EditBuffer, LineEndsAreOneByteAndGoBackAsTheyWere) {
  const EditBuffer buffer("ab\r\ncd\r\n", 6);
  EXPECT_EQ(buffer.text(), "ab\ncd\n");
  EXPECT_EQ(buffer.before(), "ab\ncd");
  EXPECT_EQ(buffer.given_offset(), 6U);
  EXPECT_EQ(buffer.with_own_line_ends("x\ny"), "x\r\ny");
  EXPECT_EQ(EditBuffer("ab\r\n", 3).given_offset(), 2U) << "not within a line end";
  EXPECT_EQ(EditBuffer("ab\n", 2).with_own_line_ends("x\ny"), "x\ny");
}

TEST(EditBuffer, KnowsTheLinesAround) {
  const EditBuffer buffer("one\n\ntwo three\n  \nfour\n", 8);
  EXPECT_EQ(buffer.line(), 3);
  EXPECT_EQ(buffer.line_before(), "two");
  EXPECT_EQ(buffer.line_after(), " three");
  EXPECT_EQ(buffer.line_above(), "one");
  EXPECT_EQ(buffer.line_below(), "four");
  const EditBuffer alone("x", 0);
  EXPECT_EQ(alone.line_above(), "");
  EXPECT_EQ(alone.line_below(), "");
  EXPECT_EQ(EditBuffer("a\n", 2).line_above(), "a");
}

TEST(EditBuffer, WhatIsWrittenStandsInFrontOfTheCursor) {
  const EditBuffer buffer = EditBuffer("a\r\nc", 3).with("b\n");
  EXPECT_EQ(buffer.text(), "a\nb\nc");
  EXPECT_EQ(buffer.before(), "a\nb\n");
  EXPECT_EQ(buffer.given_offset(), 6U);
}

}  // namespace
}  // namespace kvboost::daemon
