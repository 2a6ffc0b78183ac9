// SPDX-License-Identifier: Apache-2.0
// Vocabularies that are odd or wrong: each is refused with its cause, or read and kept from doing harm.
#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "engine/tokenizer.h"
#include "tests/support/gguf_writer.h"
#include "tests/support/tiny_model.h"

namespace kvboost::engine {
namespace {

using Ids = std::vector<TokenId>;
using Texts = std::vector<std::string>;
using Types = std::vector<std::int32_t>;
using test::GgufWriter;

constexpr std::int32_t kNormal = 1;
constexpr std::int32_t kControl = 3;
constexpr std::int32_t kUserDefined = 4;

Result<Tokenizer> read(const GgufWriter& file, bool force = false) {
  const auto bytes = file.bytes();
  auto gguf = Gguf::parse(bytes);
  if (!gguf) return fail(gguf.error());
  return Tokenizer::from_gguf(*gguf, force);
}

void expect_refused(const GgufWriter& file, std::string_view part) {
  const auto tokenizer = read(file);
  ASSERT_FALSE(tokenizer) << part;
  EXPECT_EQ(tokenizer.error().code, ErrorCode::kModel);
  EXPECT_NE(tokenizer.error().message.find(part), std::string::npos) << tokenizer.error().text();
  EXPECT_FALSE(tokenizer.error().remedy.empty());
}

/// The tiny byte-level vocabulary, to be spoilt.
class ByteLevel : public testing::Test {
 protected:
  void SetUp() override {
    const auto bytes = file_.bytes();
    const auto gguf = Gguf::parse(bytes);
    ASSERT_TRUE(gguf) << gguf.error().text();
    tokens_ = *gguf->texts("tokenizer.ggml.tokens");
    merges_ = *gguf->texts("tokenizer.ggml.merges");
    types_.assign(tokens_.size(), kNormal);
    std::fill_n(types_.begin(), 3, kControl);
  }
  void add(const std::string& token, std::int32_t type) {
    tokens_.push_back(token);
    types_.push_back(type);
    file_.set("tokenizer.ggml.tokens", tokens_);
    file_.set("tokenizer.ggml.token_type", types_);
  }

  GgufWriter file_ = test::make_tiny_model();
  Texts tokens_;
  Texts merges_;
  Types types_;
};

TEST_F(ByteLevel, ReadsTheTinyVocabulary) {
  const auto tokenizer = read(file_);
  ASSERT_TRUE(tokenizer) << tokenizer.error().text();
  const Ids ids = tokenizer->encode("the \xFF 42");
  EXPECT_EQ(tokenizer->decode(ids), "the \xFF 42");
  EXPECT_LT(ids.size(), 9U);
}

TEST_F(ByteLevel, RefusesAnUnknownPreTokenizerAndNamesTheKnown) {
  file_.set("tokenizer.ggml.pre", "klingon");
  expect_refused(file_, "klingon");
  EXPECT_NE(read(file_).error().remedy.find("qwen2"), std::string::npos);
  const auto forced = read(file_, true);
  ASSERT_TRUE(forced) << forced.error().text();
  EXPECT_EQ(forced->pre_tokenizer(), "default");
}

TEST_F(ByteLevel, RefusesAnAbsentPreTokenizer) {
  file_.remove("tokenizer.ggml.pre");
  expect_refused(file_, "does not name its pre-tokenizer");
  EXPECT_TRUE(read(file_, true));
}

TEST_F(ByteLevel, RefusesAnAbsentOrUnknownModel) {
  file_.set("tokenizer.ggml.model", "bert");
  expect_refused(file_, "unknown tokenizer \"bert\"");
  file_.remove("tokenizer.ggml.model");
  expect_refused(file_, "no tokenizer");
}

TEST_F(ByteLevel, RefusesAVocabularyThatIsAbsentEmptyOrOfAnotherType) {
  file_.set("tokenizer.ggml.tokens", Texts{});
  expect_refused(file_, "no vocabulary");
  file_.set("tokenizer.ggml.tokens", std::vector<std::int32_t>{1, 2});
  expect_refused(file_, "no vocabulary");
  file_.remove("tokenizer.ggml.tokens");
  expect_refused(file_, "no vocabulary");
}

TEST_F(ByteLevel, RefusesAPieceThatIsThereTwice) {
  add("Ġthe", kNormal);
  expect_refused(file_, "\"Ġthe\" twice");
}

TEST_F(ByteLevel, RefusesTypesThatAreNotOneAPiece) {
  types_.pop_back();
  file_.set("tokenizer.ggml.token_type", types_);
  expect_refused(file_, "300 pieces but 299 types");
}

TEST_F(ByteLevel, RefusesMergesOfPiecesThatAreNotThere) {
  for (const char* merge : {"Ġ zebra", "nogap", "", " ", "x ", "Ġthe Ġthe"}) {
    Texts merges = merges_;
    merges.push_back(merge);
    file_.set("tokenizer.ggml.merges", merges);
    expect_refused(file_, "merge 41");
  }
  file_.remove("tokenizer.ggml.merges");
  expect_refused(file_, "no merge list");
}

TEST_F(ByteLevel, RefusesIdsOutOfRange) {
  for (const char* key : {"tokenizer.ggml.bos_token_id", "tokenizer.ggml.eos_token_id",
                          "tokenizer.ggml.eot_token_id", "tokenizer.ggml.eom_token_id"}) {
    GgufWriter file = test::make_tiny_model();
    file.set(key, std::uint32_t{300});
    expect_refused(file, key);
    file.set(key, std::int32_t{-1});
    expect_refused(file, key);
  }
}

TEST_F(ByteLevel, RefusesAVocabularyWithoutTheBytesOfPlainText) {
  tokens_[static_cast<std::size_t>(test::kTinyFirstByte) + 'q'] = "not q";
  file_.set("tokenizer.ggml.tokens", tokens_);
  expect_refused(file_, "no token for byte 113");
}

TEST_F(ByteLevel, LeavesOutBytesWithoutAToken) {
  tokens_[static_cast<std::size_t>(test::kTinyFirstByte) + 0xFF] = "not FF";
  file_.set("tokenizer.ggml.tokens", tokens_);
  const auto tokenizer = read(file_);
  ASSERT_TRUE(tokenizer) << tokenizer.error().text();
  EXPECT_EQ(tokenizer->decode(tokenizer->encode("a\xFF"
                                                "b")),
            "ab");
}

TEST_F(ByteLevel, FindsUserDefinedPiecesLongestFirst) {
  add("<think>", kUserDefined);
  add("<think>ing", kUserDefined);
  add("Ġ<", kUserDefined);  // written as it stands, not in the byte alphabet
  const auto tokenizer = read(file_);
  ASSERT_TRUE(tokenizer) << tokenizer.error().text();
  EXPECT_EQ(tokenizer->encode("<think>ing<think><think"),
            (Ids{301, 300, test::kTinyFirstByte + '<', test::kTinyFirstByte + 't', test::kTinyFirstByte + 'h',
                 tokenizer->encode("in").front(), test::kTinyFirstByte + 'k'}));
  EXPECT_EQ(tokenizer->encode("Ġ<"), Ids{302});
  EXPECT_EQ(tokenizer->bytes(300), "<think>");
}

TEST_F(ByteLevel, TakesMarkupForControlWhateverItsType) {
  add("<|eot_id|>", kUserDefined);
  add("<end_of_turn>", kNormal);
  const auto tokenizer = read(file_);
  ASSERT_TRUE(tokenizer) << tokenizer.error().text();
  for (const TokenId id : {300, 301}) {
    EXPECT_TRUE(tokenizer->is_control(id));
    EXPECT_TRUE(tokenizer->is_end(id));
    EXPECT_EQ(tokenizer->bytes(id), "");
  }
  EXPECT_EQ(tokenizer->decode(tokenizer->encode("<|eot_id|><end_of_turn>")), "<|eot_id|><end_of_turn>");
}

TEST_F(ByteLevel, NeverMergesIntoAControlToken) {
  const std::size_t the = 256 + 3 + 8;  // "Ġthe"
  ASSERT_EQ(tokens_[the], "Ġthe");
  types_[the] = kControl;
  file_.set("tokenizer.ggml.token_type", types_);
  const auto tokenizer = read(file_);
  ASSERT_TRUE(tokenizer) << tokenizer.error().text();
  const Ids ids = tokenizer->encode(" the");
  EXPECT_EQ(std::ranges::find(ids, static_cast<TokenId>(the)), ids.end());
  EXPECT_EQ(tokenizer->decode(ids), " the");
}

TEST_F(ByteLevel, EndsAtTheIdsThatTheFileNames) {
  file_.set("tokenizer.ggml.eot_token_id", std::uint32_t{test::kTinyFirstByte + 'z'});
  const auto tokenizer = read(file_);
  ASSERT_TRUE(tokenizer) << tokenizer.error().text();
  EXPECT_TRUE(tokenizer->is_end(test::kTinyFirstByte + 'z'));
  EXPECT_EQ(tokenizer->encode("z"), Ids{test::kTinyFirstByte + 'z'}) << "a piece of plain text all the same";
  EXPECT_TRUE(tokenizer->is_end(2));
  EXPECT_FALSE(tokenizer->is_end(test::kTinyFirstByte + 'y'));
}

TEST_F(ByteLevel, TakesTheEndsThatTheFileNamesForControlIfTheyLookLikeIt) {
  add("<stop>", kUserDefined);
  file_.set("tokenizer.ggml.eos_token_id", std::uint32_t{300});
  const auto tokenizer = read(file_);
  ASSERT_TRUE(tokenizer) << tokenizer.error().text();
  EXPECT_TRUE(tokenizer->is_control(300));
  EXPECT_EQ(tokenizer->decode(tokenizer->encode("<stop>")), "<stop>");
}

TEST_F(ByteLevel, AddsBosWhereTheFileOrTheFamilySaysSo) {
  const auto adds_bos = [](const GgufWriter& file) {
    const auto tokenizer = read(file);
    return tokenizer && tokenizer->adds_bos();
  };
  file_.remove("tokenizer.ggml.add_bos_token");
  EXPECT_FALSE(adds_bos(file_));
  file_.set("tokenizer.ggml.pre", "llama-bpe");
  EXPECT_TRUE(adds_bos(file_));
  file_.set("tokenizer.ggml.add_bos_token", false);
  EXPECT_FALSE(adds_bos(file_));
  file_.set("tokenizer.ggml.add_bos_token", true);
  file_.remove("tokenizer.ggml.bos_token_id");
  EXPECT_FALSE(adds_bos(file_)) << "there is none to add";
}

TEST_F(ByteLevel, TakesAWholeWordFirstWhereTheFamilyWantsIt) {
  add("query", kNormal);  // no merges lead to it
  auto tokenizer = read(file_);
  ASSERT_TRUE(tokenizer);
  EXPECT_NE(tokenizer->encode("query"), Ids{300});
  file_.set("tokenizer.ggml.pre", "llama-bpe");
  tokenizer = read(file_);
  ASSERT_TRUE(tokenizer);
  EXPECT_EQ(tokenizer->encode("query"), Ids{300});
}

TEST_F(ByteLevel, ComposesTextForQwen) {
  file_.set("tokenizer.ggml.pre", "qwen2");
  const auto tokenizer = read(file_);
  ASSERT_TRUE(tokenizer);
  EXPECT_EQ(tokenizer->encode("cafe\u0301 \uAC00"), tokenizer->encode("caf\u00E9 \u1100\u1161"));
  std::string marks = "a";
  for (int i = 0; i < 500'000; ++i) marks += i % 2 == 0 ? "\u0301" : "\u0316";
  EXPECT_EQ(tokenizer->decode(tokenizer->encode(marks)), marks) << "too long a run to be put in order";
}

TEST_F(ByteLevel, GivesTheSameIdsOnEveryThread) {
  const auto tokenizer = read(file_);
  ASSERT_TRUE(tokenizer);
  const std::string text = "the cat is in the (other) room  42\n\tand on  the mat";
  const Ids expected = tokenizer->encode(text);
  std::vector<std::thread> threads;
  std::vector<int> wrong(4);
  for (int& count : wrong)
    threads.emplace_back([&] {
      for (int i = 0; i < 200; ++i) count += tokenizer->encode(text) == expected ? 0 : 1;
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<int>(4));
}

}  // namespace
}  // namespace kvboost::engine
