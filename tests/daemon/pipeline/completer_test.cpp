// SPDX-License-Identifier: Apache-2.0
// A completer over a git repository and a tiny model that can fill in the middle.
#include "daemon/pipeline/completer.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "daemon/pipeline/block_cache.h"
#include "tests/daemon/pipeline/warmer_fixture.h"
#include "tests/engine/model/loaded_engine.h"

namespace kvboost::daemon {
namespace {

class CompleterTest : public testing::Test {
 protected:
  CompleterTest() {
    tree_.git({"init", "-q"});
    tree_.write("a.c", functions("alpha", 12));
    tree_.write("b.c", functions("beta", 4));
    tree_.write(".env", "KEY=1\n");
    tree_.commit();
    const test::TinyModel tiny{.context = 8192, .marks = test::fill_marks_of("qwen2.5-coder")};
    EXPECT_TRUE(test::write_tiny_model(models_ / "a.gguf", tiny).has_value());
    auto engine = engine::Engine::load(
        {.model = models_ / "a.gguf", .compute = engine::ComputeType::kFloat32, .threads = 1});
    EXPECT_TRUE(engine.has_value());
    const auto& tokenizer = (*engine)->tokenizer();
    const Digest digest = sha256("model");
    ChatTemplate chat = ChatTemplate::detect(tokenizer);
    LiveSequences live(**engine, 4, 1ULL << 30);
    model_.emplace(LoadedModel{models_ / "a.gguf",
                               BlockNames{digest, cache::key_context(digest, chat.header())},
                               std::move(*engine), std::move(chat), std::move(live)});
  }

  CompletionRequest request(std::string text, std::size_t offset) const {
    return {.client = "me",
            .directory = tree_.root(),
            .path = "a.c",
            .buffer = EditBuffer(text, static_cast<std::int64_t>(offset)),
            .max_tokens = 6};
  }
  Completer::Prepared prepare(const CompletionRequest& request) {
    auto prepared = completer_.prepare(request, *model_, {}, {});
    if (!prepared) throw std::runtime_error(prepared.error().text());
    return std::move(*prepared);
  }
  WrittenHints write(const CompletionRequest& request, bool fresh = false) {
    const Reuse reuse{&blocks_, model_->names->model, model_->names->context, RepairPolicy{}};
    auto written =
        completer_.write(prepare(request), *model_, {.reuse = fresh ? nullptr : &reuse, .fresh = fresh});
    if (!written) throw std::runtime_error(written.error().text());
    return std::move(*written);
  }
  static std::vector<std::string> paths(const Completer::Prepared& prepared) {
    std::vector<std::string> all;
    for (const PlanPart& part : prepared.plan.prompt.parts) {
      if (!part.path.empty() && std::ranges::find(all, part.path) == all.end()) all.push_back(part.path);
    }
    return all;
  }

  test::ScratchTree tree_, models_;
  Repositories repositories_{RepositoryOptions{}};
  Completer completer_{repositories_, {.prompt_tokens = 2500}};
  BlockCache blocks_{BlockCache::Options{}};
  std::optional<LoadedModel> model_;
};

TEST_F(CompleterTest, TheUnsavedTextCounts) {
  const std::string text = functions("unsaved", 1) + "int x = ";
  const auto prepared = prepare(request(text, text.size()));
  std::string told;
  for (const PlanPart& part : prepared.plan.prompt.parts)
    told += model_->engine->tokenizer().decode(part.tokens);
  EXPECT_TRUE(told.ends_with("int x =")) << told;
  EXPECT_NE(told.find("unsaved0"), std::string::npos);
  EXPECT_EQ(told.find("alpha0"), std::string::npos) << "what the file says on disk";
  EXPECT_EQ(prepared.plan.opening, " ");
}

TEST_F(CompleterTest, RelatedPlacesComeBeforeTheFileAndStayFromKeyToKey) {
  std::string text = functions("alpha", 12);
  std::size_t cursor = text.find("alpha6");
  auto first = prepare(request(text, cursor));
  EXPECT_EQ(paths(first), (std::vector<std::string>{"b.c", "a.c"}));
  for (const char key : std::string("beta1")) {
    text.insert(cursor++, 1, key);
    const auto next = prepare(request(text, cursor));
    ASSERT_EQ(next.plan.prompt.parts.size(), first.plan.prompt.parts.size());
    for (std::size_t i = 0; i + 1 < next.plan.prompt.parts.size(); ++i)
      EXPECT_EQ(next.plan.prompt.parts[i].tokens, first.plan.prompt.parts[i].tokens) << i;
    EXPECT_EQ(next.plan.suffix, first.plan.suffix);
  }
}

TEST_F(CompleterTest, RelatedPlacesThatFillThePromptStayWhileOneTypes) {
  for (const char* name : {"c", "d", "e", "f", "g"})
    tree_.write(std::string(name) + ".c", functions(name, 5));
  std::string text = functions("alpha", 2) + "int x;";
  const auto first = prepare(request(text, text.size()));
  EXPECT_GT(first.plan.size(), 1500U);
  for (const char key : std::string("int typed(int value) {\n  while (value < 100) value *= 2;\n")) {
    text += key;
    const auto next = prepare(request(text, text.size()));
    ASSERT_EQ(next.plan.prompt.parts.size(), first.plan.prompt.parts.size());
    for (std::size_t i = 0; i + 1 < next.plan.prompt.parts.size(); ++i)
      ASSERT_EQ(next.plan.prompt.parts[i].tokens, first.plan.prompt.parts[i].tokens) << text;
  }
}

TEST_F(CompleterTest, APromptKeepsToItsLength) {
  const std::string text = functions("alpha", 100);
  for (const std::size_t cursor : {std::size_t{0}, text.size() / 2, text.size()}) {
    const auto prepared = prepare(request(text, cursor));
    EXPECT_LE(prepared.plan.size(), 2500U);
    if (cursor > 0) {
      EXPECT_GT(prepared.plan.size(), 1000U);
    }
  }
}

TEST_F(CompleterTest, AKeyIsReadFromWhatIsLive) {
  std::string text = functions("alpha", 12);
  std::size_t cursor = text.find("alpha6");
  const WrittenHints first = write(request(text, cursor));
  EXPECT_EQ(first.live_tokens, 0);
  text.insert(cursor++, 1, 'x');
  const WrittenHints second = write(request(text, cursor));
  EXPECT_LE(second.computed_tokens, 4);
  EXPECT_TRUE(second.suffix_placed);
}

TEST_F(CompleterTest, AHintIsRememberedButNotOfAFreshOne) {
  const std::string text = functions("alpha", 3);
  const CompletionRequest asked = request(text, text.size());
  (void)write(asked, true);
  EXPECT_FALSE(completer_.recent(asked, *model_));
  const WrittenHints written = write(asked);
  const auto known = completer_.recent(asked, *model_);
  ASSERT_TRUE(known);
  ASSERT_EQ(known->size(), written.hints.size());
  if (!known->empty()) {
    EXPECT_EQ(known->front(), written.hints.front().text);
  }
  CompletionRequest other = asked;
  other.path = "b.c";
  EXPECT_FALSE(completer_.recent(other, *model_));
}

TEST_F(CompleterTest, SecretsAreRefusedAndNewFilesAreNot) {
  CompletionRequest asked = request("KEY=", 4);
  asked.path = ".env";
  const auto secret = completer_.prepare(asked, *model_, {}, {});
  ASSERT_FALSE(secret);
  EXPECT_EQ(secret.error().code, ErrorCode::kInvalidArgument);
  asked.path = "not/there/yet.c";
  const auto prepared = prepare(asked);
  EXPECT_EQ(prepared.path, "not/there/yet.c");
  for (const PlanPart& part : prepared.plan.prompt.parts) {
    if (part.path == prepared.path) {
      EXPECT_EQ(part.kind, PartKind::kLiteral) << "nothing of it is stored";
    }
  }
}

TEST_F(CompleterTest, TheRingComesIn) {
  tree_.write("ui.c", "struct window {\n  char* title;\n  char* icon;\n};\n");
  CompletionRequest asked = request("int x;\n", 7);
  EXPECT_EQ(paths(prepare(asked)), (std::vector<std::string>{"b.c", "a.c"}));
  asked.ring = {{"ui.c", 3}, {"/elsewhere/x.c", 1}, {"a.c", 1}};
  const auto with_ring = paths(prepare(asked));
  EXPECT_TRUE(std::ranges::find(with_ring, "ui.c") != with_ring.end());
}

TEST_F(CompleterTest, ExtraTextComesInPlaceOfWhatWouldBeLookedFor) {
  CompletionRequest asked = request("int x;\n", 7);
  asked.extra = {{"/else/old.c", functions("old", 2)}, {".env", "KEY=1\n"}, {"new.c", "int newer;\n"}};
  EXPECT_EQ(paths(prepare(asked)), (std::vector<std::string>{"/else/old.c", "new.c", "a.c"}));
  asked.extra.insert(asked.extra.begin(), {"large.c", functions("large", 200)});
  EXPECT_EQ(paths(prepare(asked)), (std::vector<std::string>{"/else/old.c", "new.c", "a.c"}))
      << "from the front on is left out what does not fit";
  EXPECT_LE(prepare(asked).plan.size(), 2500U);
  asked.extra.clear();
  EXPECT_EQ(paths(prepare(asked)), (std::vector<std::string>{"b.c", "a.c"}));
}

TEST_F(CompleterTest, ABufferOfNoFileHasNoWorkTree) {
  CompletionRequest asked = request(functions("typed", 30), 0);
  asked.buffer = EditBuffer(asked.buffer.text(), static_cast<std::int64_t>(asked.buffer.text().size() / 2));
  asked.path.clear();
  const auto alone = prepare(asked);
  EXPECT_EQ(alone.root, "");
  EXPECT_EQ(paths(alone), std::vector<std::string>());
  asked.extra = {{"x.c", functions("extra", 3)}};
  const auto told = prepare(asked);
  EXPECT_EQ(paths(told), std::vector<std::string>{"x.c"});
  for (const PlanPart& part : told.plan.prompt.parts) {
    EXPECT_EQ(part.kind == PartKind::kFile && !part.is_opening(), part.path == "x.c" && !part.is_opening())
        << "of the buffer nothing is stored";
  }
}

TEST_F(CompleterTest, ExtraTextThatHasMovedIsLoaded) {
  CompletionRequest asked = request("int x;\n", 7);
  asked.path.clear();
  asked.extra = {{"p.c", functions("p", 3)}, {"q.c", functions("q", 3)}, {"r.c", functions("r", 3)}};
  const WrittenHints first = write(asked);
  EXPECT_EQ(first.loaded_tokens, 0);
  asked.extra.erase(asked.extra.begin());
  const WrittenHints second = write(asked);
  EXPECT_GT(second.loaded_tokens, 50);
  EXPECT_LT(second.computed_tokens, first.computed_tokens / 2);
}

TEST_F(CompleterTest, AStoppedLookSaysSo) {
  std::stop_source late;
  late.request_stop();
  const auto prepared = completer_.prepare(request("int x", 5), *model_, {}, late.get_token());
  ASSERT_TRUE(prepared);
  EXPECT_NE(prepared->incomplete, "");
  EXPECT_EQ(prepare(request("int x", 5)).incomplete, "") << "the next one looks again";
}

}  // namespace
}  // namespace kvboost::daemon
