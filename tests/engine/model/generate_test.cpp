// SPDX-License-Identifier: Apache-2.0
// Generation: what ends it, what is shown, and what stays in the sequence.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "tests/engine/model/loaded_engine.h"

namespace kvboost::engine {
namespace {

using test::LoadedEngine;
using test::random_tokens;

struct Run {
  Generated result;
  std::string text;
};

Run generate(const LoadedEngine& engine, Sequence& sequence, const GenerateParams& params) {
  Run run;
  auto result = engine->generate(sequence, params, [&](std::string_view text, TokenId) {
    run.text += text;
    return true;
  });
  EXPECT_TRUE(result.has_value()) << (result ? "" : result.error().text());
  if (result) run.result = *result;
  return run;
}

GenerateParams most(std::int32_t max_tokens) {
  GenerateParams params;
  params.max_tokens = max_tokens;
  return params;
}

TEST(Generate, GreedyTakesTheBestTokenEachTime) {
  LoadedEngine engine;
  const auto prompt = random_tokens(20);
  auto sequence = engine.read(prompt);
  const auto run = generate(engine, sequence, most(12));
  auto tokens = prompt;
  for (const TokenId token : run.result.tokens) {
    const auto logits = engine.logits(engine.read(tokens));
    EXPECT_EQ(token, std::ranges::max_element(logits) - logits.begin());
    tokens.push_back(token);
  }
  EXPECT_TRUE(std::ranges::equal(sequence.tokens(), tokens));
  EXPECT_FALSE(engine->logits(sequence).empty());
}

TEST(Generate, EndsWhereItGoesRoundInCirclesIfWanted) {
  LoadedEngine engine;
  const auto prompt = random_tokens(20);
  auto sequence = engine.read(prompt);
  GenerateParams params = most(600);
  const auto free = generate(engine, sequence, params);  // random weights and no temperature: it soon does
  auto again = engine.read(prompt);
  params.stop_repetition = true;
  const auto stopped = generate(engine, again, params);
  EXPECT_EQ(stopped.result.reason, FinishReason::kRepetition);
  const std::size_t count = stopped.result.tokens.size();
  ASSERT_LT(count, free.result.tokens.size());
  EXPECT_TRUE(std::ranges::equal(stopped.result.tokens, std::span(free.result.tokens).first(count)));
}

TEST(Generate, EndsAtTheLengthAndAtTheContext) {
  LoadedEngine engine({}, ComputeType::kFloat32, 40);
  GenerateParams params = most(5);
  params.sampling.temperature = 2.0F;
  auto sequence = engine.read(random_tokens(20));
  auto run = generate(engine, sequence, params);
  EXPECT_EQ(run.result.reason, FinishReason::kLength);
  EXPECT_EQ(run.result.tokens.size(), 5U);
  EXPECT_EQ(sequence.size(), 25);
  params.max_tokens = 1000;
  run = generate(engine, sequence, params);
  EXPECT_EQ(run.result.reason, FinishReason::kContext);
  EXPECT_EQ(sequence.size(), 40);
  run = generate(engine, sequence, most(0));
  EXPECT_EQ(run.result.reason, FinishReason::kLength);
  EXPECT_EQ(run.text, "");
}

TEST(Generate, AnEndTokenEndsItAndIsNotShown) {
  LoadedEngine engine;
  GenerateParams params = most(3000);
  params.sampling = {.temperature = 3.0F, .seed = 4};  // some control token comes up soon
  auto sequence = engine.read(random_tokens(4));
  params.max_tokens = 1900;
  const auto run = generate(engine, sequence, params);
  ASSERT_EQ(run.result.reason, FinishReason::kEnd);
  EXPECT_EQ(sequence.size(), 4 + std::ssize(run.result.tokens));
  for (const TokenId token : run.result.tokens) EXPECT_FALSE(engine->tokenizer().is_end(token));
}

TEST(Generate, TheTextIsThatOfTheTokensInWholeCharacters) {
  LoadedEngine engine;
  GenerateParams params = most(60);
  params.sampling = {.temperature = 5.0F, .seed = 9};
  auto sequence = engine.read(random_tokens(4));
  const auto run = generate(engine, sequence, params);
  Utf8Stream characters;
  std::string expected = characters.push(engine->tokenizer().decode(run.result.tokens));
  expected += characters.flush();
  EXPECT_EQ(run.text, expected);
}

TEST(Generate, AStopStringIsNeverShown) {
  LoadedEngine engine;
  GenerateParams params = most(40);
  params.sampling = {.temperature = 1.0F, .top_k = 20, .seed = 3};
  auto free = engine.read(random_tokens(30));
  const auto whole = generate(engine, free, params);
  ASSERT_GT(whole.text.size(), 12U);
  // Three bytes from the middle of the text: they cross tokens.
  const std::string stop = whole.text.substr(whole.text.size() / 2, 3);
  params.stop_strings = {stop};
  auto stopped = engine.read(random_tokens(30));
  const auto run = generate(engine, stopped, params);
  EXPECT_EQ(run.result.reason, FinishReason::kStopString);
  EXPECT_EQ(run.text, whole.text.substr(0, whole.text.find(stop)));
  EXPECT_EQ(stopped.size(), 30 + std::ssize(run.result.tokens));
}

TEST(Generate, TheSinkCanStopIt) {
  LoadedEngine engine;
  auto sequence = engine.read(random_tokens(30));
  int pieces = 0;
  const auto result =
      engine->generate(sequence, most(200), [&](std::string_view, TokenId) { return ++pieces < 3; });
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->reason, FinishReason::kSink);
  EXPECT_EQ(pieces, 3);
  EXPECT_EQ(sequence.size(), 30 + std::ssize(result->tokens));
}

TEST(Generate, TheSeedDecides) {
  LoadedEngine engine;
  GenerateParams params = most(30);
  params.sampling = {.temperature = 1.5F, .seed = 1};
  const auto with_seed = [&](std::uint64_t seed) {
    params.sampling.seed = seed;
    auto sequence = engine.read(random_tokens(10));
    return generate(engine, sequence, params).result.tokens;
  };
  EXPECT_EQ(with_seed(1), with_seed(1));
  EXPECT_NE(with_seed(1), with_seed(2));
}

TEST(Generate, CancellingLeavesTheSequenceAsItWas) {
  LoadedEngine engine;
  auto sequence = engine.read(random_tokens(30));
  const auto before = engine.logits(sequence);
  std::stop_source stop;
  const auto result = engine->generate(
      sequence, most(200),
      [&](std::string_view, TokenId) {
        stop.request_stop();
        return true;
      },
      stop.get_token());
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().code, ErrorCode::kCancelled);
  EXPECT_EQ(sequence.size(), 30);
  EXPECT_EQ(engine.logits(sequence), before);
}

TEST(Generate, TheOpeningIsKeptToAndNotShown) {
  LoadedEngine engine;
  auto sequence = engine.read(random_tokens(30));
  GenerateParams params = most(12);
  params.opening = "return x";
  const auto run = generate(engine, sequence, params);
  const std::string whole = engine->tokenizer().decode(run.result.tokens);
  Utf8Stream characters;
  ASSERT_TRUE(whole.starts_with("return x")) << whole;
  std::string shown = characters.push(std::string_view(whole).substr(8));
  EXPECT_EQ(run.text, shown += characters.flush());

  auto stopped = engine.read(random_tokens(30));
  params.opening = "r";
  EXPECT_TRUE(engine->generate(stopped, params, [](std::string_view, TokenId) { return false; }).has_value());
  EXPECT_EQ(engine.logits(stopped), engine.logits(engine.read(random_tokens(30)))) << "no logit is lost";
}

TEST(Generate, AnyControlTokenEndsItIfWanted) {
  LoadedEngine engine;
  const TokenId mark = *engine->tokenizer().special("<|im_start|>");
  ASSERT_TRUE(engine->tokenizer().is_control(mark) && !engine->tokenizer().is_end(mark));
  GenerateParams params = most(1900);
  params.sampling.temperature = 3.0F;
  bool met = false;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    params.sampling.seed = seed;
    params.end_at_control = false;
    auto free = engine.read(random_tokens(4));
    const auto all = generate(engine, free, params).result.tokens;
    const auto first = std::ranges::find(all, mark);
    params.end_at_control = true;
    auto sequence = engine.read(random_tokens(4));
    const auto run = generate(engine, sequence, params);
    EXPECT_TRUE(std::ranges::equal(run.result.tokens, std::span(all.begin(), first)));
    if (first == all.end()) continue;
    EXPECT_EQ(run.result.reason, FinishReason::kEnd);
    met = true;
    break;
  }
  EXPECT_TRUE(met) << "none of the seeds came to a control token that is no end";
}

TEST(Generate, NeedsSomethingToGoOnFrom) {
  LoadedEngine engine;
  auto sequence = engine->new_sequence();
  EXPECT_EQ(engine->generate(*sequence, most(5), {}).error().code, ErrorCode::kInvalidArgument);
  auto read = engine.read(random_tokens(3));
  GenerateParams params = most(5);
  params.sampling.top_p = 0.0F;
  EXPECT_EQ(engine->generate(read, params, {}).error().code, ErrorCode::kInvalidArgument);
}

TEST(Generate, TheRealModelAnswersSensibly) {
  const char* model = std::getenv("KVBOOST_TEST_MODEL");
  if (model == nullptr) GTEST_SKIP() << "KVBOOST_TEST_MODEL is not set";
  EngineOptions options;
  options.model = model;
  auto engine = Engine::load(options);
  ASSERT_TRUE(engine.has_value()) << engine.error().text();
  const Tokenizer& tokenizer = (*engine)->tokenizer();
  std::vector<TokenId> prompt{*tokenizer.special("<|im_start|>")};
  const auto say = [&](std::string_view text) {
    const auto tokens = tokenizer.encode(text);
    prompt.insert(prompt.end(), tokens.begin(), tokens.end());
  };
  say("user\nWhat is the capital of France?");
  prompt.push_back(*tokenizer.special("<|im_end|>"));
  say("\n");
  prompt.push_back(*tokenizer.special("<|im_start|>"));
  say("assistant\n");
  auto sequence = (*engine)->new_sequence();
  ASSERT_TRUE((*engine)->prefill(*sequence, prompt).has_value());
  std::string text;
  const auto result = (*engine)->generate(*sequence, most(40), [&](std::string_view piece, TokenId) {
    text += piece;
    return true;
  });
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->reason, FinishReason::kEnd);
  EXPECT_EQ(text, "The capital of France is Paris.");
}

}  // namespace
}  // namespace kvboost::engine
