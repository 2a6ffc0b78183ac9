// SPDX-License-Identifier: Apache-2.0
// Durations, sizes and the nearest known word.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <map>
#include <string>

#include "base/bytes.h"
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

TEST(Size, Parses) {
  const std::map<std::string, std::uint64_t> sizes = {{"0", 0},
                                                      {"512", 512},
                                                      {"512B", 512},
                                                      {"64K", 64'000},
                                                      {"1.5M", 1'500'000},
                                                      {"5G", 5'000'000'000},
                                                      {"2tb", 2'000'000'000'000},
                                                      {"1KiB", 1024},
                                                      {"1.5Mi", 1'572'864},
                                                      {"5GiB", 5'368'709'120}};
  for (const auto& [text, bytes] : sizes) EXPECT_EQ(parse_size(text).value_or(1), bytes) << text;
}

TEST(Size, Refuses) {
  for (const char* text :
       {"", "-1", "G", "1X", "1i", "1iB", "1 G", "1GG", "inf", "nan", "1e30", "10000000T"}) {
    EXPECT_FALSE(parse_size(text).has_value()) << text;
  }
}

TEST(Size, IsToldAsItIsWritten) {
  for (const char* text : {"1.0 kB", "1.0 MB", "2.0 GB", "5.0 GB", "250 MB"}) {
    std::string written;
    for (const char* c = text; *c != '\0'; ++c) {
      if (*c != ' ') written += *c;
    }
    EXPECT_EQ(human_size(parse_size(written).value_or(0)), text);
  }
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
