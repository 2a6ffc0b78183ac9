// SPDX-License-Identifier: Apache-2.0
#include "daemon/pipeline/live_sequences.h"

#include <gtest/gtest.h>

#include <optional>

#include "tests/engine/model/loaded_engine.h"

namespace kvboost::daemon {
namespace {

using test::random_tokens;

std::vector<engine::TokenId> joined(std::vector<engine::TokenId> a, const std::vector<engine::TokenId>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

class LiveSequencesTest : public testing::Test {
 protected:
  /// What a request with this prompt would find already there; it then reads the rest.
  std::int32_t reused(LiveSequences& live, const std::vector<engine::TokenId>& prompt,
                      std::optional<std::int32_t> exact = {}) {
    auto sequence = live.take(prompt);
    EXPECT_TRUE(sequence.has_value());
    const std::int32_t size = sequence->sequence.size();
    EXPECT_LT(static_cast<std::size_t>(size), prompt.size()) << "something is left to compute";
    EXPECT_TRUE(
        engine_->prefill(sequence->sequence, std::span(prompt).subspan(static_cast<std::size_t>(size)))
            .has_value());
    sequence->exact_tokens = exact.value_or(sequence->sequence.size());
    sequence->prompt_tokens = sequence->sequence.size();
    live.give_back(std::move(*sequence));
    return size;
  }

  test::LoadedEngine engine_;
  const std::vector<engine::TokenId> header_ = random_tokens(8, 1);
  const std::vector<engine::TokenId> a_ = joined(header_, random_tokens(50, 2));
  const std::vector<engine::TokenId> b_ = joined(header_, random_tokens(50, 3));
};

TEST_F(LiveSequencesTest, ContinuesTheLongestSharedPrefix) {
  LiveSequences live(*engine_, 4, 1ULL << 30);
  EXPECT_EQ(reused(live, a_), 0);
  EXPECT_EQ(reused(live, b_), 8) << "a copy of the header: the other conversation stays";
  EXPECT_EQ(reused(live, joined(a_, random_tokens(20, 4))), 58);
  EXPECT_EQ(reused(live, joined(b_, random_tokens(20, 5))), 58);
  EXPECT_EQ(live.count(), 2);
}

TEST_F(LiveSequencesTest, TheSamePromptAgainLeavesOneTokenToCompute) {
  LiveSequences live(*engine_, 4, 1ULL << 30);
  EXPECT_EQ(reused(live, a_), 0);
  EXPECT_EQ(reused(live, a_), static_cast<std::int32_t>(a_.size()) - 1);
}

TEST_F(LiveSequencesTest, WhatWasRepairedIsGoneOnFromAsAWholeOnly) {
  LiveSequences live(*engine_, 4, 1ULL << 30);
  EXPECT_EQ(reused(live, a_, 20), 0);
  const auto other_end = joined({a_.begin(), a_.end() - 10}, random_tokens(10, 9));
  EXPECT_EQ(reused(live, other_end), 20);
  EXPECT_EQ(reused(live, joined(a_, random_tokens(20, 4))), 58);
}

// The same prompt has the same question, so its repairs are the right ones, whatever was answered since.
TEST_F(LiveSequencesTest, WhatWasRepairedServesTheSamePromptAgain) {
  LiveSequences live(*engine_, 1, 1ULL << 30);
  EXPECT_EQ(reused(live, a_, 20), 0);
  auto answered = *live.take(joined(a_, {5}));
  ASSERT_EQ(answered.sequence.size(), 58);
  ASSERT_TRUE(engine_->prefill(answered.sequence, random_tokens(7, 6)).has_value());
  live.give_back(std::move(answered));
  EXPECT_EQ(reused(live, a_, 20), 57);
  EXPECT_EQ(reused(live, {a_.begin(), a_.end() - 1}), 20) << "a shorter prompt is another one";
}

TEST_F(LiveSequencesTest, CutsWhenThereIsNoRoomForAnother) {
  LiveSequences live(*engine_, 1, 1ULL << 30);
  EXPECT_EQ(reused(live, a_), 0);
  EXPECT_EQ(reused(live, b_), 8);
  EXPECT_EQ(live.count(), 1);
}

TEST_F(LiveSequencesTest, ForgetsTheOldestBeyondItsNumber) {
  LiveSequences live(*engine_, 2, 1ULL << 30);
  for (unsigned seed = 10; seed < 14; ++seed) EXPECT_EQ(reused(live, random_tokens(40, seed)), 0);
  EXPECT_EQ(live.count(), 2);
  EXPECT_EQ(reused(live, joined(random_tokens(40, 13), {5})), 40);
  EXPECT_EQ(reused(live, joined(random_tokens(40, 10), {5})), 0);
}

TEST_F(LiveSequencesTest, KeepsWithinItsBytes) {
  LiveSequences live(*engine_, 100, 1);
  EXPECT_EQ(reused(live, a_), 0);
  EXPECT_EQ(live.count(), 0);
  EXPECT_EQ(live.bytes(), 0U);
}

}  // namespace
}  // namespace kvboost::daemon
