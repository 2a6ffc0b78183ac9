// SPDX-License-Identifier: Apache-2.0
#include "daemon/prompt/chunk_cache.h"

#include <gtest/gtest.h>

#include "tests/daemon/prompt/tiny_tokenizer.h"

namespace kvboost::daemon {
namespace {

TEST(ChunkCache, CutsAndEncodesTheWholeText) {
  const auto tokenizer = test::tiny_tokenizer();
  ChunkCache cache(1'000'000);
  std::string text;
  for (int i = 0; i < 100; ++i) text += "int f" + std::to_string(i) + "() { return 1; }\n\n";
  text += "no line end";
  const auto file = cache.encode(tokenizer, "a.cpp", text);
  ASSERT_GT(file->size(), 2U);
  std::string joined;
  for (const EncodedChunk& chunk : *file) {
    const std::string piece = text.substr(chunk.span.begin, chunk.span.end - chunk.span.begin);
    const bool lacks_line_end = chunk.span.end == text.size();
    EXPECT_EQ(chunk.tokens, tokenizer.encode(lacks_line_end ? piece + "\n" : piece));
    EXPECT_TRUE(chunk.ends_line);
    joined += piece;
  }
  EXPECT_EQ(joined, text);
  EXPECT_EQ(cache.encode(tokenizer, "a.cpp", text), file);  // the very same object
  EXPECT_TRUE(cache.encode(tokenizer, "empty.cpp", "")->empty());
}

TEST(ChunkCache, CutsAsItIsTold) {
  const auto tokenizer = test::tiny_tokenizer();
  std::string text;
  for (int i = 0; i < 500; ++i) text += "int f" + std::to_string(i) + "() { return 1; }\n";
  ChunkCache whole(1'000'000, {.chunking = cache::Chunking::kDocument});
  EXPECT_EQ(whole.encode(tokenizer, "a.cpp", text)->size(), 1U);
  ChunkCache fixed(1'000'000,
                   {.chunking = cache::Chunking::kFixed, .fixed_tokens = 40, .boundary_window = 8});
  const auto file = fixed.encode(tokenizer, "a.cpp", text);
  for (std::size_t i = 0; i + 1 < file->size(); ++i) {
    EXPECT_GE((*file)[i].tokens.size(), 32U);
    EXPECT_LE((*file)[i].tokens.size(), 48U);
  }
}

TEST(ChunkCache, StaysWithinItsLimitAndForgetsTheOldest) {
  const auto tokenizer = test::tiny_tokenizer();
  ChunkCache cache(10'000);
  std::shared_ptr<const EncodedFile> last;
  for (int i = 0; i < 100; ++i) {
    last = cache.encode(tokenizer, "f", std::string(200, '.') + std::to_string(i));
    EXPECT_LE(cache.bytes(), 10'000U);
  }
  EXPECT_GT(cache.bytes(), 5'000U);
  EXPECT_EQ(cache.encode(tokenizer, "f", std::string(200, '.') + "99"), last);
  EXPECT_FALSE(cache.encode(tokenizer, "f", std::string(50'000, '.'))->empty());  // larger than the cache
  EXPECT_LE(cache.bytes(), 10'000U);
}

TEST(ChunkCache, KeepsTokenizersAndLanguagesApart) {
  ChunkCache cache(1'000'000);
  const std::string text = "12345 and 67";
  const auto tokenizer = test::tiny_tokenizer();
  const auto one = cache.encode(tokenizer, "f", text);
  const auto other = test::tiny_tokenizer({.pre_tokenizer = "llama-bpe"});
  EXPECT_NE(cache.encode(other, "f", text), one);
  EXPECT_EQ(cache.encode(other, "f", text)->front().tokens, other.encode(text + "\n"));
  EXPECT_NE(cache.encode(tokenizer, "f.py", text), one);
  EXPECT_EQ(cache.encode(test::tiny_tokenizer(), "f", text), one);
}

}  // namespace
}  // namespace kvboost::daemon
