// SPDX-License-Identifier: Apache-2.0
#include "daemon/prompt/buffer_window.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/daemon/prompt/tiny_tokenizer.h"

namespace kvboost::daemon {
namespace {

std::string function(int i) {
  return "int f" + std::to_string(i) +
         "(int value) {\n  while (value < 100) value *= 2;\n  return value;\n}\n\n";
}

std::string functions(int n) {
  std::string text = "#include <stdio.h>\n\n";
  for (int i = 0; i < n; ++i) text += function(i);
  return text;
}

class BufferWindowTest : public testing::Test {
 protected:
  void update(const std::string& text, std::size_t offset, std::size_t budget = 100'000) {
    window_.update(EditBuffer(text, static_cast<std::int64_t>(offset)), tokenizer_,
                   {.path = "a.c", .budget = budget});
  }
  /// All that is told, with the opening.
  [[nodiscard]] std::string told() const {
    std::string text;
    for (const EncodedChunk& chunk : window_.chunks()) text += tokenizer_.decode(chunk.tokens);
    return text + tokenizer_.decode(window_.tail()) + window_.opening();
  }
  [[nodiscard]] std::vector<std::vector<engine::TokenId>> ids() const {
    std::vector<std::vector<engine::TokenId>> all;
    for (const EncodedChunk& chunk : window_.chunks()) all.push_back(chunk.tokens);
    return all;
  }

  engine::Tokenizer tokenizer_ = test::tiny_tokenizer();
  BufferWindow window_;
};

TEST_F(BufferWindowTest, TellsTheTextInFrontOfTheCursor) {
  const std::string text = functions(30);
  const std::size_t cursor = text.find("f20") + 6;
  update(text, cursor);
  EXPECT_EQ(told(), text.substr(0, cursor));
  EXPECT_GT(window_.chunks().size(), 3U);
  EXPECT_FALSE(window_.opening().empty());
  EXPECT_EQ(window_.size(), tokenizer_.count(text.substr(0, cursor)) - 1);
}

TEST_F(BufferWindowTest, AKeyChangesTheEndOnly) {
  std::string text = functions(30);
  std::size_t cursor = text.find("f20");
  update(text, cursor);
  const auto chunks = ids();
  for (const char key : std::string("value = 1;\n  return")) {
    const auto before = window_.tail();
    text.insert(cursor++, 1, key);
    update(text, cursor);
    EXPECT_EQ(ids(), chunks);
    EXPECT_EQ(told(), text.substr(0, cursor));
    const auto shared = std::ranges::mismatch(before, window_.tail()).in1 - before.begin();
    EXPECT_GE(shared + 2, std::ssize(before));
  }
}

TEST_F(BufferWindowTest, FollowsTheCursorUpAndAnEditAbove) {
  std::string text = functions(30);
  update(text, text.find("f25"));
  for (const char* place : {"f24", "f10", "f2(", "#include", "f29"}) {
    update(text, text.find(place));
    EXPECT_EQ(told(), text.substr(0, text.find(place))) << place;
  }
  text.insert(text.find("f5"), "new ");
  update(text, text.find("f25"));
  EXPECT_EQ(told(), text.substr(0, text.find("f25")));
  update("other", 5);
  EXPECT_EQ(told(), "other");
  update("", 0);
  EXPECT_EQ(told(), "");
}

TEST_F(BufferWindowTest, ALongFileIsToldByItsBeginningAndWhatIsNear) {
  const std::string text = functions(200);
  const std::size_t cursor = text.find("f150(");
  update(text, cursor, 2000);
  EXPECT_LE(window_.size(), 2000U + 640U);
  EXPECT_TRUE(told().starts_with("#include <stdio.h>"));
  EXPECT_TRUE(text.substr(0, cursor).ends_with(told().substr(told().size() - 1000)));
  ASSERT_GE(window_.chunks().size(), 2U);
  EXPECT_EQ(window_.chunks().front().span.first_line, 1);
  EXPECT_GT(window_.chunks()[1].span.first_line, window_.chunks().front().span.last_line + 1);
}

TEST_F(BufferWindowTest, WhatIsTypedBecomesChunksInTheEnd) {
  std::string text;
  for (int i = 0; i < 40; ++i) {
    text += function(i);
    update(text, text.size());
    EXPECT_EQ(told(), text);
    EXPECT_LE(window_.tail().size(), 1000U);
  }
  EXPECT_GT(window_.chunks().size(), 3U);
}

TEST_F(BufferWindowTest, ALineWithoutEndIsToldByItsEnd) {
  const std::string line(5000, 'x');
  update(line, line.size());
  EXPECT_EQ(window_.tail().size(), 640U);
  update(line, 10, 5);
  EXPECT_EQ(window_.tail().size(), 5U);
}

TEST_F(BufferWindowTest, AVeryLongFileIsCutAroundTheCursor) {
  const std::string text = functions(10'000);
  const std::size_t cursor = text.find("f9000(");
  update(text, cursor, 3000);
  EXPECT_TRUE(text.substr(0, cursor).ends_with(told())) << "no imports from so far away";
  EXPECT_GT(window_.size(), 1500U);
  EXPECT_EQ(window_.chunks().back().span.last_line,
            std::ranges::count(text.substr(0, window_.chunks().back().span.end), '\n'));
}

}  // namespace
}  // namespace kvboost::daemon
