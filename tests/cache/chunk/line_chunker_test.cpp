// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <random>
#include <set>

#include "cache/chunk/chunk.h"

namespace kvboost::cache {
namespace {

// A token a word and one a punctuation mark, line break or byte above ASCII: near what a tokenizer does.
std::size_t count_tokens(std::string_view text) {
  std::size_t n = 0;
  bool in_word = false;
  for (const char c : text) {
    const bool letter = std::isalnum(static_cast<unsigned char>(c)) != 0;
    if (c != ' ' && !(letter && in_word)) ++n;
    in_word = letter;
  }
  return n;
}

void expect_cover(std::string_view text, const std::vector<Chunk>& chunks) {
  std::size_t at = 0;
  for (const Chunk& chunk : chunks) {
    ASSERT_EQ(chunk.begin, at);
    ASSERT_GT(chunk.end, chunk.begin);
    const auto lines_before = std::ranges::count(text.substr(0, chunk.begin), '\n');
    const auto lines_within = std::ranges::count(text.substr(chunk.begin, chunk.end - chunk.begin - 1), '\n');
    ASSERT_EQ(chunk.first_line, lines_before + 1);
    ASSERT_EQ(chunk.last_line, lines_before + lines_within + 1);
    at = chunk.end;
  }
  ASSERT_EQ(at, text.size());
}

std::string_view text_of(std::string_view text, const Chunk& chunk) {
  return text.substr(chunk.begin, chunk.end - chunk.begin);
}

std::string paragraphs(int n, std::mt19937& random) {
  std::string text;
  for (int i = 0; i < n; ++i) {
    for (auto lines = 1 + random() % 12; lines > 0; --lines) {
      text += std::string(random() % 3 * 2, ' ') + "call(" + std::to_string(random()) + ", value);\n";
    }
    text += "\n";
  }
  return text;
}

TEST(LineChunker, CoversRandomTextWithinTheLimits) {
  std::mt19937 random(1);
  for (int round = 0; round < 300; ++round) {
    const std::string text = paragraphs(static_cast<int>(random() % 60), random);
    const ChunkLimits limits{.min_tokens = 1 + random() % 40, .max_tokens = 60 + random() % 400};
    const auto chunks = chunk_lines(text, limits, count_tokens);
    expect_cover(text, chunks);
    for (std::size_t i = 0; i < chunks.size(); ++i) {
      const std::size_t tokens = count_tokens(text_of(text, chunks[i]));
      EXPECT_LE(tokens, limits.max_tokens);
      if (i + 1 < chunks.size()) {
        EXPECT_GE(tokens, limits.min_tokens);
      }
    }
  }
}

TEST(LineChunker, CoversAnyBytes) {
  std::mt19937 random(2);
  for (int round = 0; round < 500; ++round) {
    std::string text(random() % 3000, '\0');
    for (char& c : text) c = random() % 50 == 0 ? '\n' : static_cast<char>(random());
    const ChunkLimits limits{.min_tokens = random() % 10, .max_tokens = random() % 50};
    expect_cover(text, chunk_lines(text, limits, count_tokens));
  }
}

TEST(LineChunker, PrefersParagraphEnds) {
  std::mt19937 random(3);
  const std::string text = paragraphs(200, random);
  for (const Chunk& chunk : chunk_lines(text, {}, count_tokens)) {
    if (chunk.end < text.size()) {
      EXPECT_EQ(text.substr(chunk.end - 2, 2), "\n\n");
    }
  }
}

TEST(LineChunker, CutsAtTheLeastIndentWithoutBlankLines) {
  std::string text;
  for (int i = 0; i < 100; ++i) {
    text += "def f" + std::to_string(i) + "(a):\n";
    for (int k = 0; k < 9; ++k) text += "    use(a, " + std::to_string(k) + ")\n";
  }
  for (const Chunk& chunk : chunk_lines(text, {.min_tokens = 64, .max_tokens = 512}, count_tokens)) {
    EXPECT_EQ(text_of(text, chunk).substr(0, 5), "def f");
  }
}

TEST(LineChunker, CutsALongLineBetweenCharacters) {
  std::string text = "short\n";
  for (int i = 0; i < 5000; ++i) text += "🍒é";
  text += "\nend\n";
  const auto chunks = chunk_lines(text, {.min_tokens = 10, .max_tokens = 100}, count_tokens);
  expect_cover(text, chunks);
  for (const Chunk& chunk : chunks) {
    EXPECT_NE(static_cast<unsigned char>(text[chunk.begin]) & 0xC0, 0x80) << chunk.begin;
    EXPECT_LE(count_tokens(text_of(text, chunk)), 100U);
  }
}

TEST(LineChunker, CutsALongLineBetweenWords) {
  std::string text;
  for (int i = 0; i < 4000; ++i) text += "identifier" + std::to_string(i) + ",";
  for (const Chunk& chunk : chunk_lines(text, {.min_tokens = 64, .max_tokens = 512}, count_tokens)) {
    if (chunk.begin > 0) {
      EXPECT_EQ(text[chunk.begin], ',');
    }
  }
}

TEST(LineChunker, CountsEachByteAFewTimesOnly) {
  std::size_t counted = 0;
  const TokenCounter counter = [&](std::string_view piece) {
    counted += piece.size();
    return count_tokens(piece);
  };
  std::string dense_then_light = std::string(300'000, '(') + std::string(700'000, 'x');
  expect_cover(dense_then_light, chunk_lines(dense_then_light, {}, counter));
  EXPECT_LT(counted, 4 * dense_then_light.size());
  std::mt19937 random(4);
  const std::string text = paragraphs(3000, random);
  counted = 0;
  expect_cover(text, chunk_lines(text, {}, counter));
  EXPECT_LT(counted, text.size() * 5 / 4);
}

TEST(LineChunker, KeepsChunksAwayFromAnEdit) {
  std::mt19937 random(5);
  const std::string before = paragraphs(300, random);
  const std::size_t middle = before.find("\n\n", before.size() / 2) + 2;
  const std::string after =
      before.substr(0, middle) + "int added(int a) {\n  return a;\n}\n\n" + before.substr(middle);
  std::set<std::string_view> old;
  for (const Chunk& chunk : chunk_lines(before, {}, count_tokens)) old.insert(text_of(before, chunk));
  std::size_t changed = 0;
  const auto chunks = chunk_lines(after, {}, count_tokens);
  for (const Chunk& chunk : chunks) changed += old.contains(text_of(after, chunk)) ? 0 : 1;
  EXPECT_GT(chunks.size(), 50U);
  EXPECT_GE(changed, 1U);
  EXPECT_LE(changed, 8U);
}

TEST(LineChunker, HandlesSmallTexts) {
  EXPECT_TRUE(chunk_lines("", {}, count_tokens).empty());
  for (const std::string text : {"\n", "x", "\n\n\n", "a\r\n\r\nb\r\n", "no newline\nat the end"}) {
    const auto chunks = chunk_lines(text, {}, count_tokens);
    ASSERT_EQ(chunks.size(), 1U) << text;
    expect_cover(text, chunks);
  }
  const auto tiny = chunk_lines("🍒🍒", {.min_tokens = 1, .max_tokens = 1}, count_tokens);
  EXPECT_EQ(tiny.size(), 2U);  // one character is never cut, however many tokens it has
}

TEST(LineChunker, JoinsAShortEndToTheChunkBefore) {
  std::string text;
  for (int i = 0; i < 30; ++i) text += "one two three four five six;\n";
  text += "\nlast line\n";
  const auto chunks = chunk_lines(text, {.min_tokens = 64, .max_tokens = 512}, count_tokens);
  EXPECT_EQ(chunks.size(), 1U);
}

}  // namespace
}  // namespace kvboost::cache
