// SPDX-License-Identifier: Apache-2.0
#include "engine/sample/repetition.h"

#include <gtest/gtest.h>

namespace kvboost::engine {
namespace {

/// How many tokens of `piece`, over and over behind others, pass before it is noticed; 0: it is not.
std::size_t noticed_after(const std::vector<TokenId>& piece, std::size_t most = 1'000) {
  Repetition repetition;
  for (TokenId other = 1'000; other < 1'040; ++other) EXPECT_FALSE(repetition.push(other));
  for (std::size_t i = 0; i < most; ++i) {
    if (repetition.push(piece[i % piece.size()])) return i + 1;
  }
  return 0;
}

std::vector<TokenId> piece_of(std::size_t length) {
  std::vector<TokenId> piece(length);
  for (std::size_t i = 0; i < length; ++i) piece[i] = static_cast<TokenId>(i);
  return piece;
}

TEST(Repetition, ShortPiecesMayFillALineOrTwo) {
  EXPECT_EQ(noticed_after(piece_of(1)), 64U);
  EXPECT_EQ(noticed_after(piece_of(7)), 64U);
}

TEST(Repetition, LongOnesMayComeThreeTimes) {
  EXPECT_EQ(noticed_after(piece_of(20)), 80U);
  EXPECT_EQ(noticed_after(piece_of(64)), 256U);
  EXPECT_EQ(noticed_after(piece_of(65)), 0U);
}

TEST(Repetition, OneChangeBeginsTheCountAnew) {
  Repetition repetition;
  for (int i = 0; i < 63; ++i) EXPECT_FALSE(repetition.push(5));
  EXPECT_FALSE(repetition.push(6));
  for (int i = 0; i < 63; ++i) EXPECT_FALSE(repetition.push(5)) << i;
  EXPECT_TRUE(repetition.push(5));
}

TEST(Repetition, ATableIsNone) {
  Repetition repetition;
  for (TokenId row = 0; row < 200; ++row) {
    for (const TokenId cell : {9001, 9002, row, 9003}) EXPECT_FALSE(repetition.push(cell)) << row;
  }
}

}  // namespace
}  // namespace kvboost::engine
