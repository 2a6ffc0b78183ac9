// SPDX-License-Identifier: Apache-2.0
// Each family's turns as text with its marks, and the default model's against the ids that llama.cpp gives
// for the model's own template.
#include "daemon/prompt/chat_template.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <stdexcept>

#include "engine/model/gguf.h"
#include "tests/support/gguf_writer.h"
#include "tests/support/tiny_model.h"

namespace kvboost::daemon {
namespace {

using engine::Gguf;
using engine::TokenId;
using engine::Tokenizer;
using Ids = std::vector<TokenId>;

Tokenizer read(const test::GgufWriter& file) {
  const auto bytes = file.bytes();
  const auto gguf = Gguf::parse(bytes);
  if (!gguf) throw std::runtime_error(gguf.error().text());
  auto tokenizer = Tokenizer::from_gguf(*gguf);
  if (!tokenizer) throw std::runtime_error(tokenizer.error().text());
  return std::move(*tokenizer);
}

/// The tiny vocabulary with `marks` as control tokens behind it, and a template text.
Tokenizer with_marks(const std::vector<std::string>& marks, const std::string& chat_template) {
  auto file = test::make_tiny_model();
  const auto bytes = file.bytes();
  const auto gguf = Gguf::parse(bytes);
  std::vector<std::string> tokens = *gguf->texts("tokenizer.ggml.tokens");
  std::vector<std::int32_t> types(tokens.size(), 1);
  std::fill_n(types.begin(), 3, 3);
  for (const std::string& mark : marks) {
    tokens.push_back(mark);
    types.push_back(3);
  }
  file.set("tokenizer.ggml.tokens", tokens);
  file.set("tokenizer.ggml.token_type", types);
  file.set("tokenizer.chat_template", chat_template);
  return read(file);
}

/// The ids as text, control tokens between ⟨ and ⟩.
std::string shown(const Tokenizer& tokenizer, const Ids& ids, const std::vector<std::string>& marks) {
  std::string text;
  for (const TokenId id : ids) {
    text += tokenizer.bytes(id);
    for (const std::string& mark : marks)
      if (tokenizer.special(mark) == id) text += "⟨" + mark + "⟩";
  }
  return text;
}

struct Case {
  ChatFamily family;
  std::vector<std::string> marks;
  std::string chat_template;
  std::string header;  // SYSTEM stands for the system text
  std::string to_assistant;
  std::string to_user;
  std::string chat;  // of a system text S, what the user says U, what the assistant says A, and U again
};

class EveryFamily : public testing::TestWithParam<Case> {};

TEST_P(EveryFamily, IsDetectedAndWritesItsTurns) {
  const Case& want = GetParam();
  const Tokenizer tokenizer = with_marks(want.marks, want.chat_template);
  const ChatTemplate chat = ChatTemplate::detect(tokenizer);
  EXPECT_EQ(to_string(chat.family()), to_string(want.family));
  std::vector<std::string> marks = want.marks;
  marks.insert(marks.end(), {"<|im_start|>", "<|im_end|>"});
  std::string header = shown(tokenizer, chat.header(), marks);
  const std::size_t system = header.find("You are a ");
  ASSERT_NE(system, std::string::npos) << header;
  header.replace(system, header.find("exact.") + 6 - system, "SYSTEM");
  EXPECT_EQ(header, want.header);
  EXPECT_EQ(shown(tokenizer, chat.turn_to_assistant(), marks), want.to_assistant);
  EXPECT_EQ(shown(tokenizer, chat.turn_to_user(), marks), want.to_user);
  std::vector<ChatTurn> turns = {{Speaker::kSystem, "S"}, {Speaker::kUser, "U"}, {Speaker::kAssistant, "A"}};
  const std::string open = shown(tokenizer, chat.conversation(turns), marks);
  EXPECT_TRUE(want.chat.starts_with(open)) << open << " is gone on with";
  EXPECT_TRUE(open.ends_with("A")) << open;
  turns.push_back({Speaker::kUser, "U"});
  EXPECT_EQ(shown(tokenizer, chat.conversation(turns), marks), want.chat);
}

TEST(ChatTemplate, AChatsTextIsNeverAMark) {
  const Tokenizer tokenizer = with_marks({"<start_of_turn>", "<end_of_turn>"}, "<start_of_turn>");
  const ChatTemplate chat = ChatTemplate::detect(tokenizer);
  const Ids ids = chat.conversation(std::vector<ChatTurn>{{Speaker::kUser, "<end_of_turn>"}});
  EXPECT_EQ(std::ranges::count(ids, *tokenizer.special("<end_of_turn>")), 1);
  const Ids alone = chat.conversation(std::vector<ChatTurn>{{Speaker::kSystem, "S"}});
  EXPECT_EQ(tokenizer.decode(alone), "user\nS\n\n\nmodel\n") << "a system text without a user's is not lost";
  EXPECT_EQ(tokenizer.decode(chat.conversation({})), "model\n");
}

TEST(ChatTemplate, GuidesWhereTheContextHasRoom) {
  const Tokenizer tokenizer = with_marks({}, "{{'<|im_start|>'}}");
  const Ids plain = ChatTemplate::detect(tokenizer).header();
  EXPECT_EQ(ChatTemplate::detect(tokenizer, 4096).header(), plain);  // a byte a token: it would take half
  const Ids guided = ChatTemplate::detect(tokenizer, 1 << 20).header();
  ASSERT_GT(guided.size(), plain.size() + 1000);
  EXPECT_TRUE(std::equal(plain.begin(), plain.end(), guided.begin()));
  const std::string guide = tokenizer.decode(std::span(guided).subspan(plain.size()));
  EXPECT_TRUE(guide.starts_with("How the files are given:")) << guide;
  EXPECT_TRUE(guide.ends_with("\n"));
}

INSTANTIATE_TEST_SUITE_P(
    ChatTemplate, EveryFamily,
    testing::Values(
        Case{ChatFamily::kChatMl,
             {},
             "{{'<|im_start|>'}}",
             "⟨<|im_start|>⟩system\nSYSTEM⟨<|im_end|>⟩\n⟨<|im_start|>⟩user\n",
             "⟨<|im_end|>⟩\n⟨<|im_start|>⟩assistant\n",
             "⟨<|im_end|>⟩\n⟨<|im_start|>⟩user\n",
             "⟨<|im_start|>⟩system\nS⟨<|im_end|>⟩\n⟨<|im_start|>⟩user\nU⟨<|im_end|>⟩\n"
             "⟨<|im_start|>⟩assistant\nA⟨<|im_end|>⟩\n⟨<|im_start|>⟩user\nU⟨<|im_end|>⟩\n"
             "⟨<|im_start|>⟩assistant\n"},
        Case{ChatFamily::kLlama3,
             {"<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"},
             "<|start_header_id|>",
             "⟨<|start_header_id|>⟩system⟨<|end_header_id|>⟩\n\nSYSTEM⟨<|eot_id|>⟩"
             "⟨<|start_header_id|>⟩user⟨<|end_header_id|>⟩\n\n",
             "⟨<|eot_id|>⟩⟨<|start_header_id|>⟩assistant⟨<|end_header_id|>⟩\n\n",
             "⟨<|eot_id|>⟩⟨<|start_header_id|>⟩user⟨<|end_header_id|>⟩\n\n",
             "⟨<|start_header_id|>⟩system⟨<|end_header_id|>⟩\n\nS⟨<|eot_id|>⟩"
             "⟨<|start_header_id|>⟩user⟨<|end_header_id|>⟩\n\nU⟨<|eot_id|>⟩"
             "⟨<|start_header_id|>⟩assistant⟨<|end_header_id|>⟩\n\nA⟨<|eot_id|>⟩"
             "⟨<|start_header_id|>⟩user⟨<|end_header_id|>⟩\n\nU⟨<|eot_id|>⟩"
             "⟨<|start_header_id|>⟩assistant⟨<|end_header_id|>⟩\n\n"},
        Case{ChatFamily::kGemma,
             {"<start_of_turn>", "<end_of_turn>"},
             "<start_of_turn>",
             "⟨<start_of_turn>⟩user\nSYSTEM\n\n",
             "⟨<end_of_turn>⟩\n⟨<start_of_turn>⟩model\n",
             "⟨<end_of_turn>⟩\n⟨<start_of_turn>⟩user\n",
             "⟨<start_of_turn>⟩user\nS\n\nU⟨<end_of_turn>⟩\n⟨<start_of_turn>⟩model\nA⟨<end_of_turn>⟩\n"
             "⟨<start_of_turn>⟩user\nU⟨<end_of_turn>⟩\n⟨<start_of_turn>⟩model\n"},
        Case{ChatFamily::kMistral,
             {"</s>"},
             "[INST]",
             "[INST] SYSTEM\n\n",
             " [/INST]",
             "⟨</s>⟩[INST] ",
             "[INST] S\n\nU [/INST]A⟨</s>⟩[INST] U [/INST]"},
        Case{ChatFamily::kMistral,
             {"</s>", "[INST]", "[/INST]"},
             "[INST]",
             "⟨[INST]⟩SYSTEM\n\n",
             "⟨[/INST]⟩",
             "⟨</s>⟩⟨[INST]⟩",
             "⟨[INST]⟩S\n\nU⟨[/INST]⟩A⟨</s>⟩⟨[INST]⟩U⟨[/INST]⟩"},
        Case{ChatFamily::kMistral,
             {"</s>", "[INST]", "[/INST]", "[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]"},
             "[INST]",
             "⟨[SYSTEM_PROMPT]⟩SYSTEM⟨[/SYSTEM_PROMPT]⟩⟨[INST]⟩",
             "⟨[/INST]⟩",
             "⟨</s>⟩⟨[INST]⟩",
             "⟨[SYSTEM_PROMPT]⟩S⟨[/SYSTEM_PROMPT]⟩⟨[INST]⟩U⟨[/INST]⟩A⟨</s>⟩⟨[INST]⟩U⟨[/INST]⟩"},
        Case{ChatFamily::kPlain,
             {},
             "",
             "SYSTEM\n\n## Request\n\n",
             "\n\n## Answer\n\n",
             "\n\n## Request\n\n",
             "S\n\n## Request\n\nU\n\n## Answer\n\nA\n\n## Request\n\nU\n\n## Answer\n\n"},
        Case{ChatFamily::kPlain,
             {},
             "{{'<start_of_turn>'}}",
             "SYSTEM\n\n## Request\n\n",
             "\n\n## Answer\n\n",
             "\n\n## Request\n\n",
             "S\n\n## Request\n\nU\n\n## Answer\n\nA\n\n## Request\n\nU\n\n## Answer\n\n"}));

TEST(ChatTemplate, BeginsWithBosWhereTheModelWantsIt) {
  auto file = test::make_tiny_model();
  file.set("tokenizer.ggml.add_bos_token", true);
  file.set("tokenizer.ggml.bos_token_id", std::uint32_t{0});
  const Tokenizer tokenizer = read(file);
  for (const ChatFamily family : {ChatFamily::kChatMl, ChatFamily::kLlama3, ChatFamily::kGemma,
                                  ChatFamily::kMistral, ChatFamily::kPlain}) {
    const ChatTemplate chat(family, tokenizer);
    EXPECT_EQ(chat.header().front(), 0) << to_string(family);
    for (const Ids& turn : {chat.turn_to_assistant(), chat.turn_to_user(), chat.file_opening("a")})
      EXPECT_EQ(std::ranges::count(turn, 0), 0) << to_string(family);
  }
}

TEST(ChatTemplate, OpensAFileWithTheModelsOwnMark) {
  const Tokenizer plain = with_marks({}, "");
  EXPECT_EQ(plain.decode(ChatTemplate::detect(plain).file_opening("src/a.cpp")), "\nFile: src/a.cpp\n");
  for (const std::string mark : {"<file_sep>", "<|file_sep|>"}) {
    const Tokenizer marked = with_marks({mark}, "");
    const Ids opening = ChatTemplate::detect(marked).file_opening("<|im_end|>\n");
    EXPECT_EQ(opening.front(), marked.special(mark));
    EXPECT_EQ(marked.decode(opening), "<|im_end|>\n\n") << "a path is text, whatever it says";
  }
}

TEST(ChatTemplate, GivesTheIdsOfTheDefaultModelsOwnTemplate) {
  const char* model = std::getenv("KVBOOST_TEST_MODEL");
  if (model == nullptr) GTEST_SKIP() << "KVBOOST_TEST_MODEL names no model file";
  const auto gguf = Gguf::open(model);
  ASSERT_TRUE(gguf) << gguf.error().text();
  const auto tokenizer = Tokenizer::from_gguf(*gguf);
  ASSERT_TRUE(tokenizer) << tokenizer.error().text();
  const ChatTemplate chat = ChatTemplate::detect(*tokenizer);
  Ids ids;
  for (const Ids& part : {chat.header(), chat.file_opening("src/a.cpp"), tokenizer->encode("int a;\n"),
                          chat.turn_to_assistant(), tokenizer->encode("Yes."), chat.turn_to_user(),
                          tokenizer->encode("Why?"), chat.turn_to_assistant()})
    ids.insert(ids.end(), part.begin(), part.end());
  // llama-cpp-python 0.3.36: tokenize(rendered by Jinja2, add_bos=False, special=True)
  EXPECT_EQ(ids, (Ids{1,   9690, 198,   2683, 359,  253,  5649,  2909, 11173, 30,    11638, 469,  2988,
                      335, 260,  17532, 4577, 1836, 2441, 28,    284,  325,   5453,  284,   3018, 30,
                      2,   198,  1,     4093, 198,  5,    10920, 31,   81,    30,    35392, 198,  591,
                      253, 43,   198,   2,    198,  1,    520,   9531, 198,   10539, 30,    2,    198,
                      1,   4093, 198,   4898, 47,   2,    198,   1,    520,   9531,  198}));
}

}  // namespace
}  // namespace kvboost::daemon
