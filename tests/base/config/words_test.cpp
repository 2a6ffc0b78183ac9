// SPDX-License-Identifier: Apache-2.0
// Durations and the nearest known word.
#include <gtest/gtest.h>

#include <array>

#include "base/duration.h"
#include "base/nearest.h"

namespace kvboost {
namespace {

TEST(Duration, Parses) {
  EXPECT_EQ(parse_duration("0").value(), 0);
  EXPECT_EQ(parse_duration("90").value(), 90);
  EXPECT_EQ(parse_duration("1.5s").value(), 1.5);
  EXPECT_EQ(parse_duration("10m").value(), 600);
  EXPECT_EQ(parse_duration("1h30m").value(), 5400);
  EXPECT_EQ(parse_duration("250ms").value(), 0.25);
  EXPECT_EQ(parse_duration("7d").value(), 604800);
  EXPECT_EQ(parse_duration("0s30m").value(), 1800);
}

TEST(Duration, Refuses) {
  for (const char* text :
       {"", " ", "m", "-1s", "1x", "1h30", "10 m", "inf", "nan", "1e99", "1h ", "ms", "0x10"}) {
    const auto result = parse_duration(text);
    ASSERT_FALSE(result) << text;
    EXPECT_EQ(result.error().code, ErrorCode::kInvalidArgument);
  }
}

TEST(Duration, ForAPerson) {
  EXPECT_EQ(human_duration(0), "0 s");
  EXPECT_EQ(human_duration(0.0042), "4.2 ms");
  EXPECT_EQ(human_duration(0.25), "250 ms");
  EXPECT_EQ(human_duration(0.9999), "1.0 s");
  EXPECT_EQ(human_duration(3.44), "3.4 s");
  EXPECT_EQ(human_duration(59.97), "1 min");
  EXPECT_EQ(human_duration(320), "5 min 20 s");
  EXPECT_EQ(human_duration(7500), "2 h 5 min");
  EXPECT_EQ(human_duration(273600), "3 d 4 h");
  EXPECT_EQ(human_duration(-1), "0 s");
}

TEST(Nearest, FindsSlipsOnly) {
  constexpr std::array<std::string_view, 4> kWords = {"ask", "status", "daemon", "model"};
  EXPECT_EQ(nearest("stauts", kWords), "status");
  EXPECT_EQ(nearest("deamon", kWords), "daemon");
  EXPECT_EQ(nearest("models", kWords), "model");
  EXPECT_EQ(nearest("asc", kWords), "ask");
  EXPECT_EQ(nearest("frobnicate", kWords), "");
  EXPECT_EQ(nearest("x", kWords), "");
  EXPECT_EQ(nearest("", kWords), "");
  EXPECT_EQ(nearest(std::string(100000, 'a'), kWords), "");
}

}  // namespace
}  // namespace kvboost
