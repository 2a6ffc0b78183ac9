// SPDX-License-Identifier: Apache-2.0
// File names survive the wire byte by byte.
#include "daemon/protocol/path_text.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>
#include <string>

namespace kvboost::protocol {
namespace {

using nlohmann::json;

TEST(PathText, Utf8StaysReadable) {
  EXPECT_EQ(encode_path("src/ü \"x\"\n.cpp"), json("src/ü \"x\"\n.cpp"));
  EXPECT_EQ(encode_path(""), json(""));
}

TEST(PathText, OtherBytesGoAsBase64) {
  EXPECT_EQ(encode_path("\xff"), json({{"base64", "/w=="}}));
  EXPECT_EQ(encode_path("a\xff"), json({{"base64", "Yf8="}}));
  EXPECT_EQ(encode_path("ab\xff"), json({{"base64", "YWL/"}}));
}

TEST(PathText, AnyBytesComeBack) {
  std::mt19937 random(7);
  for (int round = 0; round < 2000; ++round) {
    std::string name(random() % 40, '\0');
    for (char& letter : name) letter = static_cast<char>(random() % (round % 2 == 0 ? 256 : 0x60) + 0x20);
    const std::string line = encode_path(name).dump();
    ASSERT_EQ(decode_path(json::parse(line)), name) << line;
  }
}

TEST(PathText, MalformedFormsAreRefused) {
  for (const char* text : {"a", "ab", "abc", "ab==c", "====", "a===", "!w==", "/x==", "Yf9=", "/w= "}) {
    EXPECT_FALSE(decode_path({{"base64", text}})) << text;
  }
  EXPECT_FALSE(decode_path({{"base64", 1}}));
  EXPECT_FALSE(decode_path(json::object()));
  EXPECT_FALSE(decode_path(json::array()));
  EXPECT_FALSE(decode_path(nullptr));
}

TEST(PathText, WellFormedUtf8) {
  for (const char* good : {"", "a", "\x7f", "\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80", "\xed\x9f\xbf",
                           "\xee\x80\x80", "\xef\xbf\xbf", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf", "🍒x"}) {
    EXPECT_TRUE(is_utf8(good)) << good;
  }
  for (const char* bad : {"\x80", "\xbf", "\xc0\x80", "\xc1\xbf", "\xc2", "\xc2x", "\xe0\x80\x80",
                          "\xe0\x9f\xbf", "\xed\xa0\x80", "\xe2\x82", "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80",
                          "\xf5\x80\x80\x80", "\xff", "a\xe2\x82z"}) {
    EXPECT_FALSE(is_utf8(bad)) << json(bad).dump(-1, ' ', true, json::error_handler_t::replace);
  }
}

}  // namespace
}  // namespace kvboost::protocol
