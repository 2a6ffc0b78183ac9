// SPDX-License-Identifier: Apache-2.0
#include "daemon/prompt/token_cache.h"

#include <gtest/gtest.h>

#include "tests/daemon/prompt/tiny_tokenizer.h"

namespace kvboost::daemon {
namespace {

TEST(TokenCache, GivesWhatTheTokenizerGives) {
  const auto tokenizer = test::tiny_tokenizer();
  TokenCache cache(1'000'000);
  for (int round = 0; round < 2; ++round) {
    for (const char* text : {"", "a", "the same text", "the same texts"}) {
      EXPECT_EQ(cache.encode(tokenizer, text), tokenizer.encode(text)) << text;
    }
  }
}

TEST(TokenCache, StaysWithinItsLimitAndForgetsTheOldest) {
  const auto tokenizer = test::tiny_tokenizer();
  TokenCache cache(10'000);
  for (int i = 0; i < 100; ++i) {
    const std::string text = std::string(200, '.') + std::to_string(i);
    EXPECT_EQ(cache.encode(tokenizer, text), tokenizer.encode(text));
    EXPECT_LE(cache.bytes(), 10'000U);
  }
  EXPECT_GT(cache.bytes(), 5'000U);
  const std::uint64_t full = cache.bytes();
  static_cast<void>(cache.encode(tokenizer, std::string(200, '.') + "99"));  // known: nothing goes
  EXPECT_EQ(cache.bytes(), full);
  EXPECT_EQ(cache.encode(tokenizer, std::string(50'000, '.')).size(),
            tokenizer.count(std::string(50'000, '.')));
  EXPECT_LE(cache.bytes(), 10'000U);
}

TEST(TokenCache, KeepsTokenizersApart) {
  TokenCache cache(1'000'000);
  const std::string text = "12345 and 67";
  const auto one = test::tiny_tokenizer();
  static_cast<void>(cache.encode(one, text));
  const std::uint64_t before = cache.bytes();
  const auto other = test::tiny_tokenizer({.pre_tokenizer = "llama-bpe"});
  EXPECT_EQ(cache.encode(other, text), other.encode(text));
  EXPECT_GT(cache.bytes(), before);
  const auto same = test::tiny_tokenizer();
  const std::uint64_t after = cache.bytes();
  static_cast<void>(cache.encode(same, text));
  EXPECT_EQ(cache.bytes(), after);
}

}  // namespace
}  // namespace kvboost::daemon
