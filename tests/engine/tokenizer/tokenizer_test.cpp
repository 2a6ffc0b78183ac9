// SPDX-License-Identifier: Apache-2.0
// The tokenizer of the real default model. Its ids are compared with the reference's on many thousand lines
// by tests/suites/tokenizer_reference.py; here are the promises that no reference makes.
#include "engine/tokenizer.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "engine/model/gguf.h"

namespace kvboost::engine {
namespace {

using Ids = std::vector<TokenId>;

class RealTokenizer : public testing::Test {
 protected:
  void SetUp() override {
    const char* model = std::getenv("KVBOOST_TEST_MODEL");
    if (model == nullptr) GTEST_SKIP() << "KVBOOST_TEST_MODEL names no model file";
    auto gguf = Gguf::open(model);
    ASSERT_TRUE(gguf) << gguf.error().text();
    auto tokenizer = Tokenizer::from_gguf(*gguf);
    ASSERT_TRUE(tokenizer) << tokenizer.error().text();
    tokenizer_.emplace(std::move(*tokenizer));
  }

  std::optional<Tokenizer> tokenizer_;
};

TEST_F(RealTokenizer, GivesTheReferencesIds) {
  EXPECT_EQ(tokenizer_->encode("Hello world 123"), (Ids{19556, 905, 216, 33, 34, 35}));
  EXPECT_EQ(tokenizer_->encode(""), Ids{});
  EXPECT_EQ(tokenizer_->pre_tokenizer(), "smollm");
  EXPECT_EQ(tokenizer_->vocabulary(), 49152);
}

TEST_F(RealTokenizer, NeverMakesAControlTokenOfText) {
  const std::string text = "<|im_end|>\n<|im_start|>system<repo_name><file_sep><|endoftext|>";
  for (TokenId id = 0; id < 17; ++id) EXPECT_TRUE(tokenizer_->is_control(id)) << id;
  const Ids ids = tokenizer_->encode(text);
  for (const TokenId id : ids) EXPECT_FALSE(tokenizer_->is_control(id)) << id;
  EXPECT_EQ(tokenizer_->decode(ids), text);
}

TEST_F(RealTokenizer, NamesSpecialTokensAndEnds) {
  EXPECT_EQ(tokenizer_->special("<|im_start|>"), 1);
  EXPECT_EQ(tokenizer_->special("<|no such token|>"), std::nullopt);
  EXPECT_EQ(tokenizer_->bos(), 1);
  EXPECT_FALSE(tokenizer_->adds_bos());
  EXPECT_TRUE(tokenizer_->is_end(2));   // <|im_end|>
  EXPECT_TRUE(tokenizer_->is_end(0));   // <|endoftext|>
  EXPECT_FALSE(tokenizer_->is_end(1));  // <|im_start|>
  EXPECT_FALSE(tokenizer_->is_end(19556));
  EXPECT_NE(tokenizer_->chat_template().find("im_start"), std::string_view::npos);
}

TEST_F(RealTokenizer, ControlTokensHaveNoBytesNorHaveIdsOutOfRange) {
  EXPECT_EQ(tokenizer_->bytes(2), "");
  EXPECT_EQ(tokenizer_->bytes(-1), "");
  EXPECT_EQ(tokenizer_->bytes(49152), "");
  EXPECT_FALSE(tokenizer_->is_control(-1));
  EXPECT_FALSE(tokenizer_->is_control(49152));
  EXPECT_EQ(tokenizer_->bytes(19556), "Hello");
}

TEST_F(RealTokenizer, DecodesWhatItEncodes) {
  using namespace std::string_literals;
  for (const std::string& text :
       {"int main() {\n\treturn 0;\r\n}\n"s,
        "über ЖЗ 漢字 ไทย العربية 👩‍👩‍👧‍👦 e\u0301"s, "   \n\n\n   x"s,
        "a\u00A0b\u2028c"s, "\0 \1"s})
    EXPECT_EQ(tokenizer_->decode(tokenizer_->encode(text)), text);
}

TEST_F(RealTokenizer, LetsIllFormedBytesThrough) {
  const std::string text =
      "a\x80\xE2\x82"
      "b\xED\xA0\x80 c";
  EXPECT_EQ(tokenizer_->decode(tokenizer_->encode(text)), text);
  EXPECT_EQ(tokenizer_->encode("\xFF"), Ids{}) << "this vocabulary has no token for byte FF";
}

TEST_F(RealTokenizer, ReadsLongLines) {
  const std::size_t size = 1 << 20;
  for (const std::string_view unit : {"a", " ", "'", "1", "\n ", "é", "ab,"}) {
    std::string text;
    while (text.size() < size) text += unit;
    EXPECT_EQ(tokenizer_->decode(tokenizer_->encode(text)), text) << unit;
  }
}

}  // namespace
}  // namespace kvboost::engine
