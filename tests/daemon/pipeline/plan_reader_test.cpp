// SPDX-License-Identifier: Apache-2.0
#include "daemon/pipeline/plan_reader.h"

#include <gtest/gtest.h>

#include <cstring>

#include "daemon/pipeline/resolver.h"
#include "tests/daemon/pipeline/plans.h"
#include "tests/support/scratch_tree.h"

namespace kvboost::daemon {
namespace {

const Digest kModel = sha256("a model");

// On both compute types where the CPU has them: blocks are bfloat16, so only there is nothing lost.
class PlanReaderTest : public testing::Test {
 protected:
  struct Outcome {
    PlanRead read;
    std::vector<float> logits;
  };

  Outcome read(const PromptPlan& plan, const Reuse* reuse, std::int32_t live = 0) {
    auto sequence = engine_->new_sequence();
    if (live > 0) {
      const auto tokens = plan.tokens();
      EXPECT_TRUE(engine_->prefill(*sequence, std::span(tokens).first(live)));
    }
    const auto done = read_plan(*engine_, *sequence, {.plan = &plan, .reuse = reuse});
    if (!done) {
      ADD_FAILURE() << done.error().text();
      return {};
    }
    EXPECT_EQ(sequence->size(), static_cast<std::int32_t>(plan.size()));
    const auto logits = engine_->logits(*sequence);
    return {*done, {logits.begin(), logits.end()}};
  }

  static std::vector<std::int32_t> loaded(const PlanRead& read) {
    std::vector<std::int32_t> tokens;
    for (const PartRead& part : read.parts) tokens.push_back(part.loaded);
    return tokens;
  }

  static float difference(const std::vector<float>& a, const std::vector<float>& b) {
    float most = 0;
    for (std::size_t i = 0; i < a.size(); ++i) most = std::max(most, std::abs(a[i] - b[i]));
    return most;
  }

  Reuse reuse(BlockCache& blocks) {
    return {&blocks, kModel, cache::key_context(kModel, plan_of(4).parts[0].tokens)};
  }

  BlockCache::Options options(bool on_disk = true) {
    BlockCache::Options options;
    if (on_disk) options.directory = tree_.root() / "cache";
    options.disk.free_floor = 0;
    return options;
  }

  test::ScratchTree tree_;
  test::LoadedEngine engine_{test::TinyModel{.context = 512}};
};

TEST_F(PlanReaderTest, LoadsWhatAnEarlierDaemonComputed) {
  const PromptPlan plan = plan_of(4);
  const Outcome plain = read(plan, nullptr);
  {
    BlockCache blocks(options());
    const Reuse names = reuse(blocks);
    const Outcome cold = read(plan, &names);
    EXPECT_EQ(loaded(cold.read), (std::vector<std::int32_t>{0, 0, 0, 0}));
    EXPECT_EQ(difference(cold.logits, plain.logits), 0);
    EXPECT_EQ(blocks.counts().missed, 3);
  }
  BlockCache blocks(options());
  const Reuse names = reuse(blocks);
  const PromptPlan other_question = plan_of(5);
  const Outcome warm = read(other_question, &names);
  EXPECT_EQ(loaded(warm.read), (std::vector<std::int32_t>{10, 40, 30, 0}));
  EXPECT_EQ(warm.read.parts[3].computed, 12);
  EXPECT_EQ(blocks.counts().exact, 3);
  EXPECT_LT(difference(warm.logits, read(other_question, nullptr).logits), 0.05F);
}

TEST_F(PlanReaderTest, WhatWaitsToBeStoredIsFoundAlready) {
  BlockCache blocks(options());
  const Reuse names = reuse(blocks);
  (void)read(plan_of(4), &names);  // no flush
  EXPECT_EQ(loaded(read(plan_of(5), &names).read), (std::vector<std::int32_t>{10, 40, 30, 0}));
}

// The same chunks in another order have no exact block, and what is not exact is computed.
TEST_F(PlanReaderTest, AnotherOrderIsComputedAndRight) {
  BlockCache blocks(options());
  const Reuse names = reuse(blocks);
  PromptPlan plan = plan_of(4);
  (void)read(plan, &names);
  blocks.flush();
  std::swap(plan.parts[1], plan.parts[2]);
  const Outcome swapped = read(plan, &names);
  EXPECT_EQ(loaded(swapped.read), (std::vector<std::int32_t>{10, 0, 0, 0}));
  EXPECT_EQ(swapped.read.parts[1].match, Match::kApproximate);
  EXPECT_EQ(blocks.counts().approximate, 2);
  EXPECT_LT(difference(swapped.logits, read(plan, nullptr).logits), 0.05F);
}

TEST_F(PlanReaderTest, GapsBetweenStoredPartsAreComputed) {
  BlockCache blocks(options());
  const Reuse names = reuse(blocks);
  const PromptPlan plan = plan_of(4);
  (void)read(plan, &names);
  blocks.flush();
  cache::KeyChain chain(names.context);
  (void)chain.next(plan.parts[0].tokens);
  ASSERT_TRUE(blocks.store().erase(chain.next(plan.parts[1].tokens).prefix).value_or(false));
  const Outcome gap = read(plan, &names);
  EXPECT_EQ(loaded(gap.read), (std::vector<std::int32_t>{10, 0, 30, 0}));
  EXPECT_EQ(gap.read.parts[1].computed, 40);
  EXPECT_LT(difference(gap.logits, read(plan, nullptr).logits), 0.05F);
  blocks.flush();
  EXPECT_EQ(loaded(read(plan, &names).read), (std::vector<std::int32_t>{10, 40, 30, 0}));
}

TEST_F(PlanReaderTest, ALiveBeginningIsKept) {
  BlockCache blocks(options());
  const Reuse names = reuse(blocks);
  const PromptPlan plan = plan_of(4);
  (void)read(plan, &names);
  const Outcome outcome = read(plan, &names, /*live=*/25);  // within the second part
  EXPECT_EQ(outcome.read.parts[0].live, 10);
  EXPECT_EQ(outcome.read.parts[1].live, 0);
  EXPECT_EQ(outcome.read.parts[1].loaded, 40);
  EXPECT_LT(difference(outcome.logits, read(plan, nullptr).logits), 0.05F);

  BlockCache none(options(false));
  const Reuse empty = reuse(none);
  const Outcome computed = read(plan, &empty, 25);
  EXPECT_EQ(computed.read.parts[1].live, 15);
  EXPECT_EQ(computed.read.parts[1].computed, 25);
  EXPECT_EQ(difference(computed.logits, read(plan, nullptr, 25).logits), 0);
}

// With a policy, blocks of other orders are placed; repair of all of them is a full read.
TEST_F(PlanReaderTest, AnotherOrderIsPlacedAndRepaired) {
  BlockCache blocks(options());
  Reuse names = reuse(blocks);
  PromptPlan plan = plan_of(4);
  (void)read(plan, &names);
  blocks.flush();
  std::swap(plan.parts[1], plan.parts[2]);
  const Outcome full = read(plan, nullptr);
  names.repair.emplace();
  const Outcome unrepaired = read(plan, &names);
  EXPECT_EQ(loaded(unrepaired.read), (std::vector<std::int32_t>{10, 30, 40, 0}));
  EXPECT_EQ(unrepaired.read.exact_tokens, 10);
  EXPECT_EQ(unrepaired.read.parts[1].repaired, 0);
  names.repair->guided = 1;
  const Outcome repaired = read(plan, &names);
  EXPECT_EQ(repaired.read.parts[1].repaired, 30);
  EXPECT_EQ(repaired.read.parts[2].repaired, 40);
  EXPECT_LT(difference(repaired.logits, full.logits), 0.05F);
  EXPECT_GT(difference(unrepaired.logits, full.logits), 2 * difference(repaired.logits, full.logits));
  names.repair = RepairPolicy{.seam = 5};
  EXPECT_EQ(read(plan, &names).read.parts[2].repaired, 5);
}

// What is computed behind blocks that are not exact must not be found as exact later.
TEST_F(PlanReaderTest, NothingBehindInexactBlocksIsStored) {
  BlockCache blocks(options());
  Reuse names = reuse(blocks);
  PromptPlan plan = plan_of(4);
  (void)read(plan, &names);
  blocks.flush();
  const std::uint64_t before = blocks.store().stats().front().records;
  std::swap(plan.parts[1], plan.parts[2]);
  plan.parts.insert(plan.parts.begin() + 3, part_of(PartKind::kFile, 25, 11, "new.c"));
  names.repair = RepairPolicy{.guided = 0.5F};
  const Outcome outcome = read(plan, &names);
  EXPECT_EQ(outcome.read.parts[3].computed, 25);
  blocks.flush();
  EXPECT_EQ(blocks.store().stats().front().records, before);
}

// Of several blocks with the same content the one is taken that was computed behind most of what is before
// it.
TEST_F(PlanReaderTest, TheLongestSharedLeftContextIsTaken) {
  BlockCache blocks(options());
  const Reuse names = reuse(blocks);
  const PlanPart header = part_of(PartKind::kHeader, 10, 1), a = part_of(PartKind::kFile, 20, 2, "a"),
                 b = part_of(PartKind::kFile, 20, 3, "b"), c = part_of(PartKind::kFile, 20, 5, "c"),
                 end = part_of(PartKind::kLiteral, 5, 6);
  for (const auto& parts : {std::vector{header, c, end}, std::vector{header, b, c, end}}) {
    PromptPlan plan;
    plan.parts = parts;
    (void)read(plan, &names);
  }
  blocks.flush();
  PromptPlan plan;
  plan.parts = {header, a, b, c, end};
  const ResolvedPlan resolved = resolve(plan, names.context, {}, blocks);
  EXPECT_EQ(resolved[1].match, Match::kMiss);
  EXPECT_EQ(resolved[2].match, Match::kApproximate);
  EXPECT_EQ(resolved[3].match, Match::kApproximate);
  EXPECT_EQ(resolved[3].source, cache::prefix_key(resolved[2].source, resolved[3].key.content));
}

// Blocks behind neighbours are placed under a policy of their own, unless others are placed beside them.
TEST_F(PlanReaderTest, EachKindOfBlockHasItsPolicy) {
  BlockCache blocks(options());
  Reuse names = reuse(blocks);
  const PlanPart header = part_of(PartKind::kHeader, 10, 1), near = part_of(PartKind::kHeader, 30, 9),
                 a = part_of(PartKind::kFile, 20, 2, "a"), b = part_of(PartKind::kFile, 20, 3, "b"),
                 end = part_of(PartKind::kLiteral, 5, 6);
  for (const auto& parts : {std::vector{header, end}, std::vector{near, a, end}, std::vector{near, b, end},
                            std::vector{header, b, end}}) {
    PromptPlan plan;
    plan.parts = parts;
    (void)read(plan, &names);
  }
  blocks.flush();
  names.neighbours = cache::KeyChain(names.context).next(near.tokens).prefix;
  const auto repaired = [&](const std::vector<PlanPart>& parts) {
    PromptPlan plan;
    plan.parts = parts;
    const Outcome outcome = read(plan, &names);
    std::int32_t sum = 0;
    for (const PartRead& part : outcome.read.parts) sum += part.repaired;
    return std::pair(sum, outcome.read.near);
  };
  using Repaired = std::pair<std::int32_t, bool>;
  names.repair_near = RepairPolicy{.seam = 2};
  EXPECT_EQ(repaired({header, a, end}), Repaired(2, true));
  names.repair = RepairPolicy{.seam = 5};
  EXPECT_EQ(repaired({header, a, end}), Repaired(2, true));
  const PlanPart c = part_of(PartKind::kFile, 20, 4, "c");
  PromptPlan elsewhere;
  elsewhere.parts = {header, b, c, end};
  (void)read(elsewhere, &names);  // c is kept as it is behind b and the header
  blocks.flush();
  EXPECT_EQ(repaired({header, a, c, end}), Repaired(10, false));
}

// A plan whose last part is stored, too: something must be computed to have logits.
TEST_F(PlanReaderTest, TheLastPartIsComputed) {
  BlockCache blocks(options());
  const Reuse names = reuse(blocks);
  PromptPlan plan = plan_of(4);
  plan.parts.pop_back();
  (void)read(plan, &names);
  blocks.flush();
  const Outcome again = read(plan, &names);
  EXPECT_EQ(loaded(again.read), (std::vector<std::int32_t>{10, 40, 0}));
  EXPECT_EQ(again.read.parts[2].computed, 30);
}

TEST_F(PlanReaderTest, LiteralsAndWhatStandsBehindThemAreNotStored) {
  BlockCache blocks(options());
  const Reuse names = reuse(blocks);
  PromptPlan plan = plan_of(4);
  plan.parts.push_back(part_of(PartKind::kFile, 20, 7, "c.c"));
  plan.parts.push_back(part_of(PartKind::kLiteral, 5, 8));
  (void)read(plan, &names);
  blocks.flush();
  EXPECT_EQ(blocks.store().stats().front().records, 3U);
}

TEST_F(PlanReaderTest, AnotherModelFindsNothing) {
  BlockCache blocks(options());
  const Reuse names = reuse(blocks);
  (void)read(plan_of(4), &names);
  blocks.flush();
  const Digest other = sha256("another model");
  const Reuse others{&blocks, other, cache::key_context(other, plan_of(4).parts[0].tokens)};
  EXPECT_EQ(loaded(read(plan_of(4), &others).read), (std::vector<std::int32_t>{0, 0, 0, 0}));
}

TEST_F(PlanReaderTest, ABlockOfAnotherShapeIsAMiss) {
  BlockCache blocks(options());
  const Reuse names = reuse(blocks);
  const PromptPlan plan = plan_of(4);
  cache::KeyChain chain(names.context);
  CapturedRun wrong{.model = kModel};
  wrong.block =
      std::make_shared<engine::KvBlock>(engine::KvBlock{{1, 1, 16}, 10, std::vector<std::uint16_t>(320)});
  wrong.cuts.push_back({chain.next(plan.parts[0].tokens), 0, 10});
  ASSERT_TRUE(blocks.store_behind(std::move(wrong)));
  blocks.flush();
  const Outcome outcome = read(plan, &names);
  EXPECT_EQ(outcome.read.parts[0].loaded, 0);
  EXPECT_EQ(difference(outcome.logits, read(plan, nullptr).logits), 0);
}

TEST_F(PlanReaderTest, ADirectoryThatCannotBeUsedLeavesMemory) {
  tree_.write("file", "no directory");
  BlockCache::Options unusable = options();
  unusable.directory = tree_.root() / "file";
  BlockCache blocks(unusable);
  EXPECT_FALSE(blocks.problem().empty());
  const Reuse names = reuse(blocks);
  (void)read(plan_of(4), &names);
  EXPECT_EQ(loaded(read(plan_of(5), &names).read), (std::vector<std::int32_t>{10, 40, 30, 0}));
}

TEST_F(PlanReaderTest, ACancelledReadKeepsWhatWasThere) {
  BlockCache blocks(options());
  const Reuse names = reuse(blocks);
  const PromptPlan plan = plan_of(4);
  (void)read(plan, &names);
  std::stop_source stop;
  stop.request_stop();
  auto sequence = engine_->new_sequence();
  const auto done =
      read_plan(*engine_, *sequence, {.plan = &plan, .reuse = &names, .stop = stop.get_token()});
  ASSERT_FALSE(done.has_value());
  EXPECT_EQ(done.error().code, ErrorCode::kCancelled);
  EXPECT_EQ(sequence->size(), 80);  // the stored parts
}

// Stored in bfloat16 and computed in it: a block read back is the block that was stored, bit by bit.
TEST(PlanReaderBFloat16, StoredBlocksGiveTheSameLogitsBitByBit) {
  if (engine::probe_cpu(engine::ComputeType::kAuto, 1).compute != engine::ComputeType::kBFloat16)
    GTEST_SKIP() << "this CPU has no bfloat16";
  const test::LoadedEngine engine(test::TinyModel{.context = 512}, engine::ComputeType::kBFloat16);
  const test::ScratchTree tree;
  const PromptPlan plan = plan_of(4);
  const auto tokens = plan.tokens();
  BlockCache::Options options{.directory = tree.root() / "cache"};
  options.disk.free_floor = 0;
  const Digest context = cache::key_context(kModel, plan.parts[0].tokens);
  auto computed = engine->new_sequence();
  {
    BlockCache blocks(options);
    const Reuse names{&blocks, kModel, context};
    PromptPlan files = plan;
    files.parts.pop_back();
    ASSERT_TRUE(read_plan(*engine, *computed, {.plan = &files, .reuse = &names}));
  }
  const auto question = std::span(tokens).subspan(80);
  ASSERT_TRUE(engine->prefill(*computed, question));
  BlockCache blocks(options);
  const Reuse names{&blocks, kModel, context};
  auto placed = engine->new_sequence();
  const auto read = read_plan(*engine, *placed, {.plan = &plan, .reuse = &names});
  ASSERT_TRUE(read.has_value());
  ASSERT_EQ(read->parts[2].loaded, 30);
  const auto a = engine->logits(*computed), b = engine->logits(*placed);
  ASSERT_EQ(a.size(), b.size());
  EXPECT_EQ(std::memcmp(a.data(), b.data(), a.size_bytes()), 0);
}

}  // namespace
}  // namespace kvboost::daemon
