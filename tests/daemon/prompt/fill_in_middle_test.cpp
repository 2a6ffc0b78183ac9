// SPDX-License-Identifier: Apache-2.0
// Each family's layout as text with its marks, from the vocabulary of a model file.
#include "daemon/prompt/fill_in_middle.h"

#include <gtest/gtest.h>

#include <cctype>

#include "daemon/prompt/completion_plan.h"
#include "tests/daemon/prompt/tiny_tokenizer.h"

namespace kvboost::daemon {
namespace {

using engine::TokenId;

/// Control tokens between ⟨ and ⟩.
std::string shown(const engine::Tokenizer& tokenizer, const std::vector<TokenId>& ids) {
  std::string text;
  for (const TokenId id : ids) {
    text += tokenizer.is_control(id) ? "⟨" + std::string(tokenizer.piece(id)) + "⟩"
                                     : std::string(tokenizer.bytes(id));
  }
  return text;
}

struct Case {
  std::string family;
  std::string prompt;  // behind the header
};

class EveryFillFamily : public testing::TestWithParam<Case> {};

TEST_P(EveryFillFamily, HasItsMarksInItsOrder) {
  const Case& want = GetParam();
  const auto tokenizer = test::tiny_tokenizer({.marks = test::fill_marks_of(want.family)});
  const ChatTemplate chat = ChatTemplate::detect(tokenizer);
  const FillInMiddle fill = FillInMiddle::detect(tokenizer, chat);
  EXPECT_EQ(to_string(fill.family()), want.family);

  BufferWindow window;
  window.update(EditBuffer("int x = y;", 8), tokenizer, {.path = "a.c"});
  const PlanPart other{.kind = PartKind::kFile, .path = "b.c", .tokens = tokenizer.encode("B\n")};
  const CompletionPlan plan = make_completion_plan({.chat = chat,
                                                    .fill = fill,
                                                    .repository = "repo",
                                                    .path = "a.c",
                                                    .is_stored = true,
                                                    .related = {&other, 1},
                                                    .window = window,
                                                    .suffix = tokenizer.encode("y;")});
  EXPECT_EQ(plan.opening, " ");
  ASSERT_EQ(plan.prompt.parts.front().tokens, chat.header());
  std::vector<TokenId> ids;
  for (std::size_t i = 1; i < plan.prompt.parts.size(); ++i) {
    const auto& tokens = plan.prompt.parts[i].tokens;
    ids.insert(ids.end(), tokens.begin(), tokens.end());
  }
  for (const auto& more : {plan.suffix, plan.closing}) ids.insert(ids.end(), more.begin(), more.end());
  EXPECT_EQ(shown(tokenizer, ids), want.prompt);
  EXPECT_EQ(plan.size(), chat.header().size() + ids.size());
}

INSTANTIATE_TEST_SUITE_P(
    FillInMiddle, EveryFillFamily,
    testing::Values(
        Case{"none", "B\n\nFile: a.c\nint x ="},
        Case{"qwen2.5-coder",
             "⟨<|repo_name|>⟩repo\nB\n⟨<|file_sep|>⟩a.c\n⟨<|fim_prefix|>⟩int x =⟨<|fim_suffix|>⟩y;"
             "⟨<|fim_middle|>⟩"},
        Case{"starcoder2",
             "⟨<repo_name>⟩repo\nB\n⟨<file_sep>⟩⟨<fim_prefix>⟩a.c\nint x =⟨<fim_suffix>⟩y;"
             "⟨<fim_middle>⟩"},
        Case{"codellama", "B\n\nFile: a.c\n⟨▁<PRE>⟩int x =⟨▁<SUF>⟩y;⟨▁<MID>⟩"},
        Case{"deepseek-coder", "B\n\nFile: a.c\n⟨<｜fim▁begin｜>⟩int x =⟨<｜fim▁hole｜>⟩y;⟨<｜fim▁end｜>⟩"},
        Case{"codestral", "B\n\nFile: a.c\n⟨[SUFFIX]⟩y;⟨[PREFIX]⟩int x ="}),
    [](const auto& of) {
      std::string name = of.param.family;
      std::erase_if(name, [](unsigned char c) { return std::isalnum(c) == 0; });
      return name;
    });

engine::Tokenizer with_named_marks(const std::vector<std::string>& keys) {
  test::TinyModel model{.marks = {"<before>", "<behind>", "<gap>"}};
  auto file = test::make_tiny_model(model);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    file.set("tokenizer.ggml." + keys[i],
             static_cast<std::uint32_t>(test::kTinyVocabulary) + static_cast<std::uint32_t>(i));
  }
  const auto bytes = file.bytes();
  const auto gguf = engine::Gguf::parse(bytes);
  auto tokenizer = engine::Tokenizer::from_gguf(*gguf);
  if (!tokenizer) throw std::runtime_error(tokenizer.error().text());
  return std::move(*tokenizer);
}

TEST(FillInMiddle, TakesTheMarksThatTheFileNames) {
  const std::vector<std::vector<std::string>> forms = {
      {"fim_pre_token_id", "fim_suf_token_id", "fim_mid_token_id"},
      {"prefix_token_id", "suffix_token_id", "middle_token_id"}};
  for (const auto& keys : forms) {
    const auto tokenizer = with_named_marks(keys);
    const ChatTemplate chat = ChatTemplate::detect(tokenizer);
    const FillInMiddle fill = FillInMiddle::detect(tokenizer, chat);
    EXPECT_EQ(fill.family(), FillFamily::kOther);
    EXPECT_EQ(shown(tokenizer, fill.opening("a.c")), "\nFile: a.c\n⟨<before>⟩");
    EXPECT_EQ(shown(tokenizer, fill.before_suffix()), "⟨<behind>⟩");
    EXPECT_EQ(shown(tokenizer, fill.before_middle()), "⟨<gap>⟩");
  }
}

TEST(FillInMiddle, HalfOfTheMarksAreNone) {
  const auto tokenizer = with_named_marks({"fim_pre_token_id", "fim_suf_token_id"});
  const ChatTemplate chat = ChatTemplate::detect(tokenizer);
  EXPECT_FALSE(FillInMiddle::detect(tokenizer, chat).available());
}

TEST(FillInMiddle, AMarkOutOfTheVocabularyIsRefused) {
  auto file = test::make_tiny_model();
  file.set("tokenizer.ggml.fim_pre_token_id", std::uint32_t{70'000});
  const auto bytes = file.bytes();
  const auto gguf = engine::Gguf::parse(bytes);
  const auto tokenizer = engine::Tokenizer::from_gguf(*gguf);
  ASSERT_FALSE(tokenizer);
  EXPECT_NE(tokenizer.error().message.find("fim_pre_token_id is 70000"), std::string::npos);
}

}  // namespace
}  // namespace kvboost::daemon
