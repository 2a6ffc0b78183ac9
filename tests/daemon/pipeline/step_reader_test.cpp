// SPDX-License-Identifier: Apache-2.0
#include "daemon/pipeline/step_reader.h"

#include <gtest/gtest.h>

#include "tests/daemon/pipeline/plans.h"

namespace kvboost::daemon {
namespace {

class StepReaderTest : public testing::Test {
 protected:
  /// Header, files of 100 tokens, text.
  static PromptPlan plan(unsigned n_files) {
    PromptPlan plan;
    plan.parts.push_back(part_of(PartKind::kHeader, 40, 1));
    for (unsigned i = 0; i < n_files; ++i) plan.parts.push_back(part_of(PartKind::kFile, 100, 2 + i, "a.c"));
    plan.parts.push_back(part_of(PartKind::kLiteral, 30, 99));
    return plan;
  }

  test::LoadedEngine engine_;
};

TEST_F(StepReaderTest, ReadsWhatReadPlanReads) {
  const PromptPlan whole = plan(6);
  auto steps = *engine_->new_sequence(), once = *engine_->new_sequence();
  const auto read = read_in_steps(*engine_, steps, {.plan = &whole});
  ASSERT_TRUE(read.has_value()) << read.error().text();
  ASSERT_TRUE(read_plan(*engine_, once, {.plan = &whole}).has_value());
  EXPECT_LT(test::distance(engine_.logits(steps), engine_.logits(once)), 1e-4);
  ASSERT_EQ(read->parts.size(), whole.parts.size());
  for (std::size_t i = 0; i < read->parts.size(); ++i)
    EXPECT_EQ(read->parts[i].computed, std::ssize(whole.parts[i].tokens)) << i;
  const auto again = read_in_steps(*engine_, steps = steps.fork(500), {.plan = &whole});
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(again->parts[1].live, 100);
  EXPECT_EQ(again->parts[5].computed, 40);
}

TEST_F(StepReaderTest, WhatWasReadBeforeTheStopStays) {
  const PromptPlan whole = plan(6);
  auto sequence = *engine_->new_sequence();
  std::stop_source stop;
  std::int32_t told = 0;
  PlanReading reading{.plan = &whole};
  reading.stop = stop.get_token();
  reading.progress = [&](std::int32_t, std::int32_t) {
    if (++told == 2) stop.request_stop();
  };
  const auto stopped = read_in_steps(*engine_, sequence, reading);
  ASSERT_FALSE(stopped.has_value());
  EXPECT_EQ(stopped.error().code, ErrorCode::kCancelled);
  EXPECT_EQ(sequence.size(), 340) << "two steps, of 140 and 200 tokens";
  ASSERT_TRUE(read_in_steps(*engine_, sequence, {.plan = &whole}).has_value());
  auto once = *engine_->new_sequence();
  ASSERT_TRUE(read_plan(*engine_, once, {.plan = &whole}).has_value());
  EXPECT_LT(test::distance(engine_.logits(sequence), engine_.logits(once)), 1e-4);
}

TEST_F(StepReaderTest, AReadingThatIsStoppedAgainAndAgainGetsOn) {
  const PromptPlan whole = plan(3);
  auto sequence = *engine_->new_sequence(), once = *engine_->new_sequence();
  StepSize size;
  int stops = 0;
  for (bool done = false; !done; ++stops) {
    ASSERT_LT(stops, 50);
    constexpr std::int32_t kInTime = 40;  // tokens, then the next key comes
    const std::int32_t before = sequence.size();
    std::stop_source stop;
    PlanReading reading{.plan = &whole};
    reading.stop = stop.get_token();
    reading.progress = [&](std::int32_t, std::int32_t) {
      if (sequence.size() - before >= kInTime) stop.request_stop();
    };
    if (size.tokens() > kInTime) stop.request_stop();
    done = read_in_steps(*engine_, sequence, reading, size).has_value();
    size.note(!done);
  }
  EXPECT_GT(stops, 4);
  EXPECT_EQ(size.tokens(), StepSize().tokens()) << "the next one is not in a hurry";
  ASSERT_TRUE(read_plan(*engine_, once, {.plan = &whole}).has_value());
  EXPECT_LT(test::distance(engine_.logits(sequence), engine_.logits(once)), 1e-4);
}

TEST_F(StepReaderTest, ACutPartIsToldAsOne) {
  const PromptPlan whole = plan(3);
  StepSize size;
  size.note(true);
  auto sequence = *engine_->new_sequence();
  const auto read = read_in_steps(*engine_, sequence, {.plan = &whole}, size);
  ASSERT_TRUE(read.has_value());
  ASSERT_EQ(read->parts.size(), whole.parts.size());
  for (std::size_t i = 0; i < read->parts.size(); ++i)
    EXPECT_EQ(read->parts[i].computed, std::ssize(whole.parts[i].tokens)) << i;
}

TEST_F(StepReaderTest, StoredChunksArePlacedWithinAStep) {
  BlockCache blocks({});
  const PromptPlan first = plan(4);
  const Digest model = sha256("m");
  const Reuse reuse{&blocks, model, cache::key_context(model, first.parts[0].tokens)};
  auto sequence = *engine_->new_sequence();
  ASSERT_TRUE(read_in_steps(*engine_, sequence, {.plan = &first, .reuse = &reuse}).has_value());
  blocks.flush();
  PromptPlan second = plan(6);
  second.parts.back() = part_of(PartKind::kLiteral, 50, 77);
  auto stored = *engine_->new_sequence(), fresh = *engine_->new_sequence();
  const auto read = read_in_steps(*engine_, stored, {.plan = &second, .reuse = &reuse});
  ASSERT_TRUE(read.has_value());
  for (std::size_t i = 0; i < second.parts.size(); ++i)
    EXPECT_EQ(read->parts[i].loaded > 0, i < 5) << "part " << i;
  ASSERT_TRUE(read_plan(*engine_, fresh, {.plan = &second}).has_value());
  EXPECT_LT(test::distance(engine_.logits(stored), engine_.logits(fresh)), 0.3) << "blocks are bfloat16";
}

}  // namespace
}  // namespace kvboost::daemon
