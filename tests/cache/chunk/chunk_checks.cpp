// SPDX-License-Identifier: Apache-2.0
#include "tests/cache/chunk/chunk_checks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <memory>

#include "engine/model/gguf.h"
#include "engine/tokenizer.h"

namespace kvboost::test {
namespace {

std::size_t count_words(std::string_view text) {
  constexpr int kLettersOfAToken = 4;
  std::size_t tokens = 0;
  int letters = 0;
  for (const char c : text) {
    const bool letter = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
    if (letter ? letters % kLettersOfAToken == 0 : c != ' ') ++tokens;
    letters = letter ? letters + 1 : 0;
  }
  return tokens;
}

cache::TokenCounter make_counter() {
  const char* model = std::getenv("KVBOOST_TEST_MODEL");
  if (model == nullptr) return count_words;
  const auto gguf = engine::Gguf::open(model);
  if (!gguf) {
    ADD_FAILURE() << gguf.error().text();
    return count_words;
  }
  auto tokenizer = engine::Tokenizer::from_gguf(*gguf);
  if (!tokenizer) {
    ADD_FAILURE() << tokenizer.error().text();
    return count_words;
  }
  return [kept = std::make_shared<engine::Tokenizer>(std::move(*tokenizer))](std::string_view text) {
    return kept->count(text);
  };
}

}  // namespace

const cache::TokenCounter& token_counter() {
  static const cache::TokenCounter counter = make_counter();
  return counter;
}

std::string_view text_of(std::string_view text, const cache::Chunk& chunk) {
  return text.substr(chunk.begin, chunk.end - chunk.begin);
}

std::vector<std::string> texts_of(std::string_view text, const std::vector<cache::Chunk>& chunks) {
  std::vector<std::string> texts;
  for (const cache::Chunk& chunk : chunks) texts.emplace_back(text_of(text, chunk));
  return texts;
}

void expect_cover(std::string_view text, const std::vector<cache::Chunk>& chunks) {
  std::size_t at = 0;
  std::ptrdiff_t lines_before = 0;
  for (const cache::Chunk& chunk : chunks) {
    ASSERT_EQ(chunk.begin, at);
    ASSERT_GT(chunk.end, chunk.begin);
    ASSERT_LE(chunk.end, text.size());
    const std::string_view content = text_of(text, chunk);
    const std::ptrdiff_t lines = std::ranges::count(content, '\n');
    ASSERT_EQ(chunk.first_line, lines_before + 1);
    ASSERT_EQ(chunk.last_line, lines_before + lines + (content.back() == '\n' ? 0 : 1));
    lines_before += lines;
    at = chunk.end;
  }
  ASSERT_EQ(at, text.size());
}

}  // namespace kvboost::test
