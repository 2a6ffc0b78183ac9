// SPDX-License-Identifier: Apache-2.0
#include "daemon/pipeline/hint_writer.h"

#include <gtest/gtest.h>

#include <set>

#include "tests/daemon/pipeline/plans.h"

namespace kvboost::daemon {
namespace {

class HintWriterTest : public testing::Test {
 protected:
  HintWriterTest() {
    plan_.prompt = plan_of(4);
    request_.plan = &plan_;
    request_.buffer = &buffer_;
    request_.place = {cache::WantedText::kMember, 0};  // random weights seldom write a line end
    request_.kept = &kept_;
    request_.max_tokens = 12;
  }

  WrittenHints write() {
    auto written = write_hints(*engine_, live_, request_);
    if (!written) {
      ADD_FAILURE() << written.error().text();
      return {};
    }
    return std::move(*written);
  }

  /// As a key does: some more text in front of the cursor.
  void type(std::size_t n_tokens) {
    auto& tokens = plan_.prompt.parts.back().tokens;
    const auto more = test::random_tokens(n_tokens, ++typed_);
    tokens.insert(tokens.end(), more.begin(), more.end());
  }

  test::LoadedEngine engine_;
  LiveSequences live_{*engine_, 2, 1ULL << 30};
  const EditBuffer buffer_{"x", 1};
  CompletionPlan plan_;
  BufferKv kept_;
  HintRequest request_;
  unsigned typed_ = 100;
};

TEST_F(HintWriterTest, AKeyCostsItsTokensOnly) {
  plan_.suffix = test::random_tokens(40, 7);
  plan_.closing = test::random_tokens(1, 8);
  const WrittenHints first = write();
  EXPECT_EQ(first.computed_tokens, 92 + 40 + 1);
  EXPECT_FALSE(first.suffix_placed);
  type(2);
  const WrittenHints second = write();
  EXPECT_TRUE(second.suffix_placed);
  EXPECT_EQ(second.live_tokens, 92);
  EXPECT_EQ(second.loaded_tokens, 40);
  EXPECT_EQ(second.computed_tokens, 2 + 1);
  EXPECT_EQ(second.prompt_tokens, 94 + 40 + 1);
}

TEST_F(HintWriterTest, ASuffixThatChangedOrIsFarAwayIsComputed) {
  plan_.suffix = test::random_tokens(40, 7);
  plan_.closing = test::random_tokens(1, 8);
  (void)write();
  plan_.suffix = test::random_tokens(41, 9);
  EXPECT_FALSE(write().suffix_placed);
  type(200);
  EXPECT_FALSE(write().suffix_placed);
  EXPECT_TRUE(write().suffix_placed);
}

// What stands before a placed suffix changed by one token: it is nearly what it would be.
TEST_F(HintWriterTest, APlacedSuffixIsNearToAComputedOne) {
  plan_.suffix = test::random_tokens(40, 7);
  plan_.closing = test::random_tokens(1, 8);
  (void)write();
  auto same = *engine_->new_sequence();
  const auto prompt = plan_.prompt.tokens();
  ASSERT_TRUE(engine_->prefill(same, prompt).has_value());
  ASSERT_TRUE(engine_->place(same, kept_.suffix.block, plan_.suffix, same.size()).has_value());
  ASSERT_TRUE(engine_->prefill(same, plan_.closing).has_value());
  auto whole = *engine_->new_sequence();
  for (const auto& tokens : {prompt, plan_.suffix, plan_.closing})
    ASSERT_TRUE(engine_->prefill(whole, tokens).has_value());
  EXPECT_LT(test::distance(engine_.logits(same), engine_.logits(whole)), 0.3) << "blocks are bfloat16";
}

TEST_F(HintWriterTest, ItsSequencesAreNotThoseOfAnswers) {
  (void)write();
  const auto prompt = plan_.prompt.tokens();
  EXPECT_EQ(live_.take(prompt)->sequence.size(), 0);
  EXPECT_EQ(live_.take(prompt, LiveKind::kCompletion)->sequence.size(), 91);
}

TEST_F(HintWriterTest, AFreshOneLeavesNothing) {
  request_.fresh = true;
  request_.kept = nullptr;
  plan_.suffix = test::random_tokens(40, 7);
  (void)write();
  EXPECT_EQ(live_.count(), 0);
  EXPECT_EQ(write().live_tokens, 0);
}

TEST_F(HintWriterTest, AlternativesDifferAndTheLikeliestIsFirst) {
  const WrittenHints one = write();
  request_.alternatives = 4;
  const WrittenHints four = write();
  ASSERT_FALSE(one.hints.empty());
  EXPECT_EQ(four.hints.front().text, one.hints.front().text);
  std::set<std::string> texts;
  for (const Hint& hint : four.hints) texts.insert(hint.text);
  EXPECT_EQ(texts.size(), four.hints.size());
  EXPECT_LE(four.hints.size(), 4U);
}

TEST_F(HintWriterTest, TheOpeningIsNotShown) {
  plan_.opening = "re";
  std::string written;
  request_.sink = [&](std::string_view text) {
    written += text;
    return true;
  };
  request_.max_tokens = 3;
  const WrittenHints hints = write();
  EXPECT_FALSE(written.starts_with("re")) << written;
  EXPECT_EQ(hints.hints.front().finish_reason, "length");
}

TEST_F(HintWriterTest, AStopIsAnErrorUnlessTimeIsUp) {
  std::stop_source stop, time_up;
  request_.stop = stop.get_token();
  request_.sink = [&](std::string_view) {
    stop.request_stop();
    time_up.request_stop();
    return true;
  };
  const auto cancelled = write_hints(*engine_, live_, request_);
  ASSERT_FALSE(cancelled.has_value());
  EXPECT_EQ(cancelled.error().code, ErrorCode::kCancelled);
  EXPECT_EQ(live_.count(), 1) << "what was read stays";

  time_up = {};
  request_.stop = time_up.get_token();
  request_.is_late = [] { return true; };
  const WrittenHints late = write();
  ASSERT_EQ(late.hints.size(), 1U);
  EXPECT_EQ(late.hints.front().finish_reason, "time");
  EXPECT_EQ(late.computed_tokens, 1) << "and is gone on from";
}

TEST_F(HintWriterTest, AClientThatDoesNotReadEndsIt) {
  request_.sink = [](std::string_view) { return false; };
  const auto ended = write_hints(*engine_, live_, request_);
  ASSERT_FALSE(ended.has_value());
  EXPECT_EQ(ended.error().code, ErrorCode::kCancelled);
}

}  // namespace
}  // namespace kvboost::daemon
