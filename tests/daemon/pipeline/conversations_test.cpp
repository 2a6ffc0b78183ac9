// SPDX-License-Identifier: Apache-2.0
#include "daemon/pipeline/conversations.h"

#include <gtest/gtest.h>

#include <fstream>

#include "daemon/pipeline/conversation_file.h"
#include "tests/daemon/pipeline/plans.h"
#include "tests/daemon/prompt/tiny_tokenizer.h"

namespace kvboost::daemon {
namespace {

namespace fs = std::filesystem;

class ConversationsTest : public testing::Test {
 protected:
  Conversation sample() const {
    Conversation conversation{"/models/tiny.gguf", {}};
    PlanPart header;
    header.kind = PartKind::kHeader;
    header.tokens = {1};  // <|im_start|>
    const auto text = tokenizer_.encode("user\nnäive ☃");
    header.tokens.insert(header.tokens.end(), text.begin(), text.end());
    PlanPart file;
    file.kind = PartKind::kFile;
    file.path = "odd\xffname.c";
    file.first_line = 3;
    file.last_line = 9;
    file.tokens = tokenizer_.encode("int main() {}\n");
    PlanPart answer;
    answer.tokens = tokenizer_.encode("It returns 0.");
    answer.tokens.push_back(2);  // <|im_end|>
    conversation.parts = {header, file, answer};
    return conversation;
  }
  static void expect_equal(const Conversation& a, const Conversation& b) {
    EXPECT_EQ(a.model, b.model);
    ASSERT_EQ(a.parts.size(), b.parts.size());
    for (std::size_t i = 0; i < a.parts.size(); ++i) {
      EXPECT_EQ(a.parts[i].kind, b.parts[i].kind);
      EXPECT_EQ(a.parts[i].path, b.parts[i].path);
      EXPECT_EQ(a.parts[i].first_line, b.parts[i].first_line);
      EXPECT_EQ(a.parts[i].last_line, b.parts[i].last_line);
      EXPECT_EQ(a.parts[i].tokens, b.parts[i].tokens) << "part " << i;
    }
  }

  const engine::Tokenizer tokenizer_ = test::tiny_tokenizer();
  const test::ScratchTree scratch_;
  const fs::path directory_ = scratch_ / "conversations";
};

TEST_F(ConversationsTest, AreFoundByTheirWorkTree) {
  Conversations conversations(std::nullopt);
  EXPECT_EQ(conversations.last("/a", "/models/tiny.gguf", tokenizer_).error().code, ErrorCode::kNotFound);
  conversations.keep("/a", sample(), tokenizer_);
  expect_equal(*conversations.last("/a", "/models/tiny.gguf", tokenizer_), sample());
  EXPECT_FALSE(conversations.last("/b", "/models/tiny.gguf", tokenizer_).has_value());
}

TEST_F(ConversationsTest, AnotherModelsConversationIsNotContinued) {
  Conversations conversations(std::nullopt);
  conversations.keep("/a", sample(), tokenizer_);
  const auto other = conversations.last("/a", "/models/other.gguf", tokenizer_);
  ASSERT_FALSE(other.has_value());
  EXPECT_NE(other.error().message.find("/models/tiny.gguf"), std::string::npos);
}

TEST_F(ConversationsTest, StayInMemoryUnlessTheUserChose) {
  Conversations conversations(std::nullopt);
  conversations.keep("/a", sample(), tokenizer_);
  EXPECT_TRUE(fs::is_empty(scratch_.root()));
}

TEST_F(ConversationsTest, SurviveARestartAsTextThatOnlyTheUserCanRead) {
  Conversations(directory_).keep("/a", sample(), tokenizer_);
  int files = 0;
  for (const auto& entry : fs::directory_iterator(directory_)) {
    ++files;
    EXPECT_EQ(entry.status().permissions(), fs::perms::owner_read | fs::perms::owner_write) << entry.path();
  }
  EXPECT_EQ(files, 1) << "no temporary file is left";
  EXPECT_EQ(fs::status(directory_).permissions(), fs::perms::owner_all);
  const Conversations after(directory_);
  const auto last = after.last("/a", "/models/tiny.gguf", tokenizer_);
  ASSERT_TRUE(last.has_value()) << last.error().text();
  expect_equal(*last, sample());
}

TEST_F(ConversationsTest, ADamagedFileIsNamedWithTheRemedy) {
  Conversations(directory_).keep("/a", sample(), tokenizer_);
  const fs::path file = fs::directory_iterator(directory_)->path();
  std::string text;
  std::getline(std::ifstream(file), text, '\0');
  for (const std::string& damaged :
       {text.substr(0, text.size() / 2), std::string("{}"), std::string("[1]"),
        std::string(R"({"version":1,"model":"m","parts":[{"kind":"verse"}]})")}) {
    std::ofstream(file, std::ios::trunc) << damaged;
    const auto last = Conversations(directory_).last("/a", "/models/tiny.gguf", tokenizer_);
    ASSERT_FALSE(last.has_value()) << damaged;
    EXPECT_EQ(last.error().code, ErrorCode::kCorrupt) << damaged;
    EXPECT_FALSE(last.error().remedy.empty()) << damaged;
  }
}

TEST_F(ConversationsTest, AFileOfAnotherVersionIsNone) {
  fs::create_directory(directory_);
  fs::permissions(directory_, fs::perms::owner_all);
  Conversations(directory_).keep("/a", sample(), tokenizer_);
  const fs::path file = fs::directory_iterator(directory_)->path();
  std::ofstream(file, std::ios::trunc) << R"({"version":2,"model":"m","parts":[]})";
  EXPECT_EQ(Conversations(directory_).last("/a", "m", tokenizer_).error().code, ErrorCode::kNotFound);
}

}  // namespace
}  // namespace kvboost::daemon
