// SPDX-License-Identifier: Apache-2.0
// SentencePiece vocabularies, small enough to see what each piece is for.
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <limits>

#include "engine/tokenizer.h"
#include "tests/support/gguf_writer.h"

namespace kvboost::engine {
namespace {

using Ids = std::vector<TokenId>;

constexpr std::int32_t kNormal = 1;
constexpr std::int32_t kUnknown = 2;
constexpr std::int32_t kControl = 3;
constexpr std::int32_t kUserDefined = 4;
constexpr std::int32_t kByte = 6;
constexpr TokenId kFirstByte = 3;

struct Piece {
  std::string text;
  float score;
  std::int32_t type = kNormal;
};

class SentencePiece : public testing::Test {
 protected:
  SentencePiece() {
    pieces_ = {{"<unk>", 0, kUnknown}, {"<s>", 0, kControl}, {"</s>", 0, kControl}};
    for (unsigned byte = 0; byte < 256; ++byte) {
      std::array<char, 8> name{};
      std::snprintf(name.data(), name.size(), "<0x%02X>", byte);
      pieces_.push_back({name.data(), 0, kByte});
    }
  }
  TokenId add(const std::string& text, float score, std::int32_t type = kNormal) {
    pieces_.push_back({text, score, type});
    return static_cast<TokenId>(pieces_.size()) - 1;
  }
  Result<Tokenizer> read() {
    std::vector<std::string> tokens;
    std::vector<float> scores;
    std::vector<std::int32_t> types;
    for (const Piece& piece : pieces_) {
      tokens.push_back(piece.text);
      scores.push_back(piece.score);
      types.push_back(piece.type);
    }
    file_.set("tokenizer.ggml.model", "llama");
    file_.set("tokenizer.ggml.tokens", tokens);
    if (with_scores_) file_.set("tokenizer.ggml.scores", scores);
    file_.set("tokenizer.ggml.token_type", types);
    file_.set("tokenizer.ggml.bos_token_id", std::uint32_t{1});
    file_.set("tokenizer.ggml.eos_token_id", std::uint32_t{2});
    const auto bytes = file_.bytes();
    auto gguf = Gguf::parse(bytes);
    if (!gguf) return fail(gguf.error());
    return Tokenizer::from_gguf(*gguf);
  }

  std::vector<Piece> pieces_;
  test::GgufWriter file_;
  bool with_scores_ = true;
};

TEST_F(SentencePiece, MergesByScoreNotByOrder) {
  const TokenId a = add("a", -1);
  const TokenId b = add("b", -2);
  const TokenId c = add("c", -3);
  const TokenId ab = add("ab", -9);
  const TokenId bc = add("bc", -8);
  const auto tokenizer = read();
  ASSERT_TRUE(tokenizer) << tokenizer.error().text();
  EXPECT_EQ(tokenizer->encode("abc"), (Ids{a, bc}));
  EXPECT_EQ(tokenizer->encode("abab"), (Ids{ab, ab}));
  EXPECT_EQ(tokenizer->encode("cb"), (Ids{c, b}));
}

TEST_F(SentencePiece, PutsASpaceBeforeTheStartOnlyWhereTheModelWantsIt) {
  const TokenId space = add("▁", -1);
  const TokenId x = add("x", -2);
  const TokenId space_x = add("▁x", -3);
  auto tokenizer = read();
  ASSERT_TRUE(tokenizer) << tokenizer.error().text();
  EXPECT_EQ(tokenizer->encode("x x"), (Ids{x, space_x}));
  EXPECT_EQ(tokenizer->encode("x x", TextPosition::kStart), (Ids{space_x, space_x}));
  EXPECT_EQ(tokenizer->encode(" x", TextPosition::kStart), (Ids{space, space_x}));
  EXPECT_EQ(tokenizer->encode("", TextPosition::kStart), Ids{});
  EXPECT_EQ(tokenizer->decode(tokenizer->encode("x  x ")), "x  x ");
  file_.set("tokenizer.ggml.add_space_prefix", false);
  tokenizer = read();
  ASSERT_TRUE(tokenizer);
  EXPECT_EQ(tokenizer->encode("x x", TextPosition::kStart), (Ids{x, space_x}));
}

TEST_F(SentencePiece, FallsBackToBytes) {
  const TokenId x = add("x", -1);
  const auto tokenizer = read();
  ASSERT_TRUE(tokenizer) << tokenizer.error().text();
  EXPECT_EQ(tokenizer->encode("xé\n\xFFx"),
            (Ids{x, kFirstByte + 0xC3, kFirstByte + 0xA9, kFirstByte + '\n', kFirstByte + 0xFF, x}));
  EXPECT_EQ(tokenizer->bytes(kFirstByte + 0xC3), "\xC3");
  EXPECT_EQ(tokenizer->decode(tokenizer->encode("xé\n\xFFx")), "xé\n\xFFx");
}

TEST_F(SentencePiece, MergesAcrossASpaceWhereAPieceDoes) {
  const TokenId space = add("▁", -1);
  const TokenId greater = add(">", -2);
  const TokenId less = add("<", -3);
  add("▁<", -4);
  const TokenId both = add(">▁<", -5);
  const auto tokenizer = read();
  ASSERT_TRUE(tokenizer) << tokenizer.error().text();
  EXPECT_EQ(tokenizer->encode("> <"), Ids{both});
  EXPECT_EQ(tokenizer->encode("> >"), (Ids{greater, space, greater}));
  EXPECT_EQ(tokenizer->encode("<<"), (Ids{less, less}));
}

TEST_F(SentencePiece, FindsUserDefinedPiecesInTextWithSpaces) {
  const TokenId space = add("▁", -1);
  const TokenId four = add("▁▁▁▁", 0, kUserDefined);
  const auto tokenizer = read();
  ASSERT_TRUE(tokenizer) << tokenizer.error().text();
  EXPECT_EQ(tokenizer->encode("     "), (Ids{four, space}));
  EXPECT_EQ(tokenizer->bytes(four), "    ");
}

TEST_F(SentencePiece, NeverMakesAControlTokenOfText) {
  for (const char* text : {"<", ">", "/", "s", "</", "s>", "<s", "0", "x", "A", "<0", "<0x", "<0x0", "<0x0A"})
    add(text, -1);
  const auto tokenizer = read();
  ASSERT_TRUE(tokenizer) << tokenizer.error().text();
  for (const std::string text : {"<s>", "</s>", "<0x0A>"}) {
    const Ids ids = tokenizer->encode(text);
    EXPECT_GT(ids.size(), 1U) << text;
    EXPECT_EQ(tokenizer->decode(ids), text);
  }
  EXPECT_TRUE(tokenizer->is_end(2));
  EXPECT_TRUE(tokenizer->adds_bos());
}

TEST_F(SentencePiece, RefusesScoresThatDoNotFit) {
  with_scores_ = false;
  EXPECT_NE(read().error().message.find("one score a piece"), std::string::npos);
  file_.set("tokenizer.ggml.scores", std::vector<float>{1, 2});
  EXPECT_NE(read().error().message.find("one score a piece"), std::string::npos);
  with_scores_ = true;
  add("x", std::numeric_limits<float>::quiet_NaN());
  EXPECT_NE(read().error().message.find("no number"), std::string::npos);
}

TEST_F(SentencePiece, RefusesAVocabularyWithoutPlainText) {
  pieces_[kFirstByte + '{'].text = "<0xZZ>";
  const auto tokenizer = read();
  ASSERT_FALSE(tokenizer);
  EXPECT_EQ(tokenizer.error().code, ErrorCode::kModel);
  EXPECT_NE(tokenizer.error().message.find("no token for byte 123"), std::string::npos);
}

TEST_F(SentencePiece, ReadsALongLineWithoutSpaces) {
  add("a", -1);
  add("aa", -2);
  add("aaaa", -3);
  const auto tokenizer = read();
  ASSERT_TRUE(tokenizer);
  EXPECT_EQ(tokenizer->encode(std::string(1 << 20, 'a')).size(), std::size_t{1} << 18);
}

}  // namespace
}  // namespace kvboost::engine
