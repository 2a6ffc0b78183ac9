// SPDX-License-Identifier: Apache-2.0
#include "cache/track/text_encoding.h"

#include <gtest/gtest.h>

namespace kvboost::cache {
namespace {

std::string converted(std::string_view bytes) {
  const auto text = to_utf8(std::string(bytes));
  return text ? *text : "! " + text.error().message;
}

TEST(TextEncoding, KeepsUtf8) {
  for (const std::string text : {"", "plain\r\n", "é", "日本語", "🍒🍒", "a\u0000"}) {
    EXPECT_EQ(converted(text), text);
  }
  EXPECT_EQ(converted("\xEF\xBB\xBF\xEF\xBB\xBF"), "\xEF\xBB\xBF");  // one mark only
}

TEST(TextEncoding, FindsTheFirstIllFormedByte) {
  const std::pair<std::string, std::size_t> cases[] = {{"abc\xFF", 3},
                                                       {"12345678\x80", 8},
                                                       {"\xC0\xAF", 0},
                                                       {"\xE0\x80\x80", 0},
                                                       {"a\xED\xA0\x80", 1},
                                                       {"\xF0\x80\x80\x80", 0},
                                                       {"\xF4\x90\x80\x80", 0},
                                                       {"\xF5\x80\x80\x80", 0},
                                                       {"1234567\xC3", 7},
                                                       {"1234567\xE2\x82", 7},
                                                       {"\xF0\x9F\x8D", 0},
                                                       {"ok\xC3(", 2},
                                                       {"good \xC3\xA9 end", 11},
                                                       {"\xF4\x8F\xBF\xBF", 4},
                                                       {"\xEF\xBF\xBF", 3}};
  for (const auto& [text, prefix] : cases) EXPECT_EQ(utf8_prefix(text), prefix) << text;
}

TEST(TextEncoding, ConvertsUtf16) {
  EXPECT_EQ(converted(std::string_view("\xFF\xFE"
                                       "a\0\xE9\0\x2C\x67\x3C\xD8\x52\xDF",
                                       12)),
            "aé本🍒");
  EXPECT_EQ(converted(std::string_view("\xFE\xFF"
                                       "\0a\0\xE9\x67\x2C\xD8\x3C\xDF\x52",
                                       12)),
            "aé本🍒");
  EXPECT_EQ(converted("\xFF\xFE"), "");
}

TEST(TextEncoding, RefusesIllFormedUtf16) {
  EXPECT_EQ(converted("\xFF\xFE"
                      "a"),
            "! ill-formed UTF-16 (an odd number of bytes)");
  EXPECT_EQ(converted("\xFF\xFE\x3C\xD8"), "! ill-formed UTF-16 (half a pair at offset 2)");
  EXPECT_EQ(converted(std::string_view("\xFF\xFE\x52\xDF"
                                       "a\0",
                                       6)),
            "! ill-formed UTF-16 (half a pair at offset 2)");
  EXPECT_EQ(converted(std::string_view("\xFF\xFE\x3C\xD8"
                                       "a\0",
                                       6)),
            "! ill-formed UTF-16 (half a pair at offset 2)");
  EXPECT_EQ(converted(std::string_view("\xFF\xFE\0\0a\0\0\0", 8)), "! binary (a NUL at offset 2)");  // UTF-32
}

TEST(TextEncoding, RefusesWhatIsNoText) {
  EXPECT_EQ(converted(std::string_view("PNG\0x", 5)), "! binary (a NUL byte at offset 3)");
  EXPECT_EQ(converted("na\xEFve"), "! not UTF-8 (from offset 2 on)");
}

}  // namespace
}  // namespace kvboost::cache
