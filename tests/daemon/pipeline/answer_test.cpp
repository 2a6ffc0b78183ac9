// SPDX-License-Identifier: Apache-2.0
#include "daemon/pipeline/answer.h"

#include <gtest/gtest.h>

#include "tests/daemon/pipeline/plans.h"

namespace kvboost::daemon {
namespace {

class AnswerTest : public testing::Test {
 protected:
  AnswerRequest request(const PromptPlan& plan) {
    AnswerRequest request;
    request.plan = &plan;
    request.generate.max_tokens = 8;
    return request;
  }

  test::LoadedEngine engine_{test::TinyModel{.context = 256}};
  LiveSequences live_{*engine_, 2, 1ULL << 30};
};

TEST_F(AnswerTest, SaysOfEachPartWhatWasReused) {
  const PromptPlan first = plan_of(4);
  const auto cold = answer(*engine_, live_, request(first));
  ASSERT_TRUE(cold.has_value()) << cold.error().text();
  EXPECT_EQ(cold->prompt_tokens, 92);
  EXPECT_EQ(cold->reused_tokens, 0);
  for (const PartRead& part : cold->read.parts) EXPECT_EQ(part.live, 0);

  const PromptPlan second = plan_of(5);
  const auto warm = answer(*engine_, live_, request(second));
  ASSERT_TRUE(warm.has_value());
  EXPECT_EQ(warm->reused_tokens, 80);
  std::vector<std::int32_t> live;
  for (const PartRead& part : warm->read.parts) live.push_back(part.live);
  EXPECT_EQ(live, (std::vector<std::int32_t>{10, 40, 30, 0}));
}

TEST_F(AnswerTest, AReusedPrefixDoesNotChangeTheAnswer) {
  const PromptPlan plan = plan_of(5);
  LiveSequences fresh(*engine_, 1, 1ULL << 30);
  const auto cold = answer(*engine_, fresh, request(plan));
  ASSERT_TRUE(answer(*engine_, live_, request(plan_of(4))).has_value());
  const auto warm = answer(*engine_, live_, request(plan));
  ASSERT_TRUE(cold && warm);
  ASSERT_GT(warm->reused_tokens, 0);
  EXPECT_EQ(warm->generated.tokens, cold->generated.tokens);
  EXPECT_EQ(warm->text, cold->text);
}

TEST_F(AnswerTest, AFreshOneGoesOnFromNothingAndLeavesNothing) {
  const PromptPlan plan = plan_of(4);
  ASSERT_TRUE(answer(*engine_, live_, request(plan)).has_value());
  AnswerRequest fresh = request(plan);
  fresh.fresh = true;
  const auto answered = answer(*engine_, live_, fresh);
  ASSERT_TRUE(answered.has_value());
  EXPECT_EQ(answered->reused_tokens, 0);
  EXPECT_EQ(live_.count(), 1) << "that of the first request";
  std::stop_source stop;
  stop.request_stop();
  fresh.stop = stop.get_token();
  EXPECT_FALSE(answer(*engine_, live_, fresh).has_value());
  EXPECT_EQ(live_.count(), 1);
}

TEST_F(AnswerTest, APromptThatOutgrowsTheContextIsRefusedWithBothNumbers) {
  PromptPlan plan = plan_of(4);
  plan.parts.push_back(part_of(PartKind::kFile, 200, 9));
  const auto refused = answer(*engine_, live_, request(plan));
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument);
  EXPECT_NE(refused.error().message.find("292"), std::string::npos) << refused.error().message;
  EXPECT_NE(refused.error().message.find("256"), std::string::npos) << refused.error().message;
}

TEST_F(AnswerTest, ACancelledOneLeavesTheNextOneRight) {
  const PromptPlan plan = plan_of(4);
  LiveSequences fresh(*engine_, 1, 1ULL << 30);
  const auto expected = answer(*engine_, fresh, request(plan));
  std::stop_source stop;
  stop.request_stop();
  AnswerRequest cancelled = request(plan);
  cancelled.stop = stop.get_token();
  EXPECT_EQ(answer(*engine_, live_, cancelled).error().code, ErrorCode::kCancelled);
  const auto after = answer(*engine_, live_, request(plan));
  ASSERT_TRUE(expected && after);
  EXPECT_EQ(after->generated.tokens, expected->generated.tokens);
}

TEST_F(AnswerTest, StopsWhenTheSinkHasHadEnough) {
  const PromptPlan plan = plan_of(4);
  AnswerRequest stopped = request(plan);
  int pieces = 0;
  stopped.sink = [&](std::string_view, engine::TokenId) { return ++pieces < 3; };
  const auto result = answer(*engine_, live_, stopped);
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->generated.reason, engine::FinishReason::kSink);
  EXPECT_EQ(pieces, 3);
}

TEST_F(AnswerTest, ReportsProgressOverWhatIsReallyRead) {
  ASSERT_TRUE(answer(*engine_, live_, request(plan_of(4))).has_value());
  const PromptPlan plan = plan_of(5);
  AnswerRequest watched = request(plan);
  std::int32_t last = 0;
  std::int32_t whole = 0;
  watched.progress = [&](std::int32_t done, std::int32_t total) {
    EXPECT_GE(done, last);
    last = done;
    whole = total;
  };
  ASSERT_TRUE(answer(*engine_, live_, watched).has_value());
  EXPECT_EQ(whole, 12);
  EXPECT_EQ(last, 12);
}

}  // namespace
}  // namespace kvboost::daemon
