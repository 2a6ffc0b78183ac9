// SPDX-License-Identifier: Apache-2.0
// Seams of text (C02): what stands beside a chunk changes neither its tokens nor its key, so all chunks of a
// prompt are found among those that were warmed, in any order of the files.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "daemon/pipeline/file_blocks.h"
#include "daemon/pipeline/resolver.h"
#include "daemon/prompt/assembler.h"
#include "tests/daemon/prompt/tiny_tokenizer.h"
#include "tests/support/scratch_tree.h"

namespace kvboost::daemon {
namespace {

const Digest kModel = sha256("a model");

class Seams : public testing::Test {
 protected:
  Seams() {
    auto file = test::make_tiny_model();
    file.set("tokenizer.ggml.add_bos_token", true);
    file.set("tokenizer.ggml.bos_token_id", std::uint32_t{0});
    EXPECT_TRUE(file.write(tree_ / "model.gguf"));
    auto gguf = engine::Gguf::open(tree_ / "model.gguf");
    tokenizer_.emplace(*engine::Tokenizer::from_gguf(*gguf));
    chat_.emplace(ChatFamily::kChatMl, *tokenizer_);
    context_ = cache::key_context(kModel, chat_->header());
    // The ends and beginnings that a tokenizer would join.
    tree_.write("src/a.py", "def a():\n    return 1");
    tree_.write("src/b.py", "    y = 2\n");
    tree_.write("src/c.py", "# a comment\n#");
    tree_.write("src/d.md", "# Überschrift\n漢字");
    tree_.write("src/e.txt", "字の続き \U0001F352");
    tree_.write("src/f.txt", "\U0001F352\u200d\U0001F352\n\n\n");
  }

  PromptPlan plan(const std::vector<std::string>& paths) {
    auto repository = *Repository::open(tree_ / "src", {});
    EXPECT_TRUE(repository->refresh({}).has_value());
    auto made = assemble(*repository, {"What is it?", paths, tree_ / "src", 20'000}, *chat_, *tokenizer_, {});
    EXPECT_TRUE(made.has_value()) << (made ? "" : made.error().text());
    return made ? *made : PromptPlan();
  }

  /// Stores blocks of each file as the warmer names them.
  void warm(BlockCache& blocks, const std::vector<std::string>& paths) {
    auto repository = *Repository::open(tree_ / "src", {});
    ASSERT_TRUE(repository->refresh({}).has_value());
    for (const std::string& path : paths) {
      const auto chunks = cut_and_encode(*tokenizer_, path, *repository->read(path), {});
      for (const BlockGroup& group : group_blocks(chunks, path, *chat_, context_, 4096)) {
        CapturedRun run{.model = kModel};
        const auto block = std::make_shared<engine::KvBlock>();
        for (const BlockPart& part : group) {
          const auto size = static_cast<std::int32_t>(part.tokens.size());
          run.cuts.push_back({part.key, block->n_tokens, size});
          block->n_tokens += size;
        }
        block->shape = {1, 1, 2};
        block->data.resize(4 * static_cast<std::size_t>(block->n_tokens));
        run.block = block;
        ASSERT_TRUE(blocks.store_behind(std::move(run)));
      }
    }
    blocks.flush();
  }

  const test::ScratchTree tree_;
  std::optional<engine::Tokenizer> tokenizer_;
  std::optional<ChatTemplate> chat_;
  Digest context_;
};

TEST_F(Seams, AllChunksAreFoundInAnyOrder) {
  std::vector<std::string> paths{"a.py", "b.py", "c.py", "d.md", "e.txt", "f.txt"};
  BlockCache blocks({});
  warm(blocks, paths);
  std::set<std::vector<engine::TokenId>> plans;
  for (int order = 0; order < 12; ++order) {
    std::ranges::rotate(paths, paths.begin() + 1);
    if (order == 6) std::ranges::reverse(paths);
    const PromptPlan asked = plan(paths);
    ASSERT_TRUE(plans.insert(asked.tokens()).second);
    const ResolvedPlan resolved = resolve(asked, context_, {}, blocks);
    bool first_file = true;
    for (std::size_t i = 0; i < asked.parts.size(); ++i) {
      const PlanPart& part = asked.parts[i];
      if (part.kind == PartKind::kLiteral) continue;
      if (i > 1 && part.is_opening()) first_file = false;
      EXPECT_EQ(resolved[i].match, first_file ? Match::kExact : Match::kApproximate)
          << order << ": " << part.path;
    }
  }
}

TEST_F(Seams, TheBeginningTokenStandsOnce) {
  const auto tokens = plan({"a.py", "f.txt", "d.md"}).tokens();
  EXPECT_EQ(tokens.front(), 0);
  EXPECT_EQ(std::ranges::count(tokens, 0), 1);
}

// A file that ends within a line gets the line end that it lacks, and nothing else stands between two files.
TEST_F(Seams, PartsSayTheTextsOfTheFiles) {
  const PromptPlan asked = plan({"a.py", "b.py"});
  std::vector<engine::TokenId> parts;
  std::string text;
  for (const PlanPart& part : asked.parts) {
    if (part.kind != PartKind::kFile || part.is_opening()) continue;
    parts.insert(parts.end(), part.tokens.begin(), part.tokens.end());
    text += tokenizer_->decode(part.tokens);
  }
  EXPECT_EQ(text, "def a():\n    return 1\n    y = 2\n");
  EXPECT_EQ(tokenizer_->decode(parts), text);
}

}  // namespace
}  // namespace kvboost::daemon
