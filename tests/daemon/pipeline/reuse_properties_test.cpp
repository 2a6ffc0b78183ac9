// SPDX-License-Identifier: Apache-2.0
// Properties of reuse over random plans: chunks deleted, inserted, moved and edited at random, then read with
// what an earlier prompt has left in the store. A failure names the seed that repeats it.
#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <optional>
#include <random>
#include <ranges>

#include "daemon/pipeline/plan_reader.h"
#include "engine/cpu.h"
#include "tests/daemon/pipeline/plans.h"
#include "tests/engine/model/sequence_cells.h"

namespace kvboost::daemon {
namespace {

using engine::ComputeType;
using engine::Sequence;
using test::cell_difference;

constexpr unsigned kSeeds = 12;
constexpr std::size_t kMostChunks = 12;
const Digest kModel = sha256("a model");

unsigned seed_of(std::mt19937& random) {
  return static_cast<unsigned>(random());
}

PlanPart new_chunk(std::mt19937& random) {
  // Lengths around the tiles of 64 cells, and one token.
  constexpr std::size_t kLengths[] = {1, 7, 16, 31, 33, 63, 64, 65};
  return part_of(PartKind::kFile, kLengths[random() % std::size(kLengths)], seed_of(random), "f");
}

PromptPlan first_plan(std::mt19937& random) {
  PromptPlan plan;
  plan.parts.push_back(part_of(PartKind::kHeader, 9, 1));
  const std::size_t chunks = 1 + random() % kMostChunks;
  for (std::size_t i = 0; i < chunks; ++i) plan.parts.push_back(new_chunk(random));
  plan.parts.push_back(part_of(PartKind::kLiteral, 11, seed_of(random)));
  return plan;
}

/// Deletes, inserts, moves or edits a chunk.
void change(PromptPlan& plan, std::mt19937& random) {
  const auto first = plan.parts.begin() + 1, end = plan.parts.end() - 1;
  const auto chunks = static_cast<std::size_t>(end - first);
  const auto at = first + static_cast<std::ptrdiff_t>(chunks == 0 ? 0 : random() % chunks);
  switch (random() % 4) {
    case 0:
      if (chunks > 0) plan.parts.erase(at);
      break;
    case 1:
      if (chunks < kMostChunks) plan.parts.insert(at, new_chunk(random));
      break;
    case 2:
      if (chunks > 1) std::rotate(first, at, end);
      break;
    default:
      if (chunks > 0)
        at->tokens[random() % at->tokens.size()] = test::random_tokens(1, seed_of(random)).front();
  }
}

class ReuseProperties : public ::testing::TestWithParam<ComputeType> {
 protected:
  void SetUp() override {
    if (GetParam() == ComputeType::kBFloat16 && !engine::has_bfloat16())
      GTEST_SKIP() << "this CPU has no AVX512-BF16";
    engine_.emplace(test::TinyModel{.context = 2048}, GetParam());
  }

  [[nodiscard]] bool bfloat16() const { return GetParam() == ComputeType::kBFloat16; }

  Reuse reuse(BlockCache& blocks) {
    return {&blocks, kModel, cache::key_context(kModel, part_of(PartKind::kHeader, 9, 1).tokens)};
  }

  Sequence read(const PromptPlan& plan, const Reuse* reuse, PlanRead* what = nullptr) {
    auto sequence = (*engine_)->new_sequence();
    auto done = read_plan(**engine_, *sequence, {.plan = &plan, .reuse = reuse});
    EXPECT_TRUE(done.has_value()) << (done ? "" : done.error().text());
    if (done && what != nullptr) *what = std::move(*done);
    return std::move(*sequence);
  }

  /// Stores the plan's blocks, each computed in a call of its own.
  void warm(PromptPlan plan, const Reuse& reuse) {
    const auto parts = plan.parts;
    for (std::size_t n = 1; n < parts.size(); ++n) {
      plan.parts.assign(parts.begin(), parts.begin() + static_cast<std::ptrdiff_t>(n));
      (void)read(plan, &reuse);
      reuse.blocks->flush();
    }
  }

  /// A plain read in the calls in which the cells were computed: each loaded part's own, and one for parts
  /// that were computed one behind the other.
  Sequence plain_read(const PromptPlan& plan, const PlanRead& read) {
    auto sequence = (*engine_)->new_sequence();
    std::vector<engine::TokenId> call;
    const auto run = [&] {
      if (call.empty()) return;
      EXPECT_TRUE((*engine_)->prefill(*sequence, call).has_value());
      call.clear();
    };
    for (std::size_t i = 0; i < plan.parts.size(); ++i) {
      const auto& tokens = plan.parts[i].tokens;
      if (read.parts[i].loaded > 0) run();
      call.insert(call.end(), tokens.begin(), tokens.end());
      if (read.parts[i].loaded > 0) run();
    }
    run();
    return std::move(*sequence);
  }

  std::optional<test::LoadedEngine> engine_;
};
INSTANTIATE_TEST_SUITE_P(Types, ReuseProperties,
                         ::testing::Values(ComputeType::kFloat32, ComputeType::kBFloat16),
                         [](const auto& of) {
                           return of.param == ComputeType::kFloat32 ? "Float32" : "BFloat16";
                         });

float difference(std::span<const float> a, std::span<const float> b) {
  return static_cast<float>(test::distance(a, b));
}

TEST_P(ReuseProperties, ExactIsAFreshReadCellByCell) {
  std::int64_t loaded = 0, computed = 0;
  for (unsigned seed = 1; seed <= kSeeds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    PromptPlan plan = first_plan(random);
    BlockCache blocks({});
    const Reuse names = reuse(blocks);
    warm(plan, names);
    for (std::size_t changes = random() % 4; changes > 0; --changes) change(plan, random);

    PlanRead what;
    const Sequence exact = read(plan, &names, &what), fresh = read(plan, nullptr);
    for (const PartRead& part : what.parts) loaded += part.loaded, computed += part.computed;
    const auto tokens = plan.tokens();
    ASSERT_TRUE(std::ranges::equal(exact.tokens(), tokens));
    ASSERT_TRUE(std::ranges::equal(exact.positions(), fresh.positions()));
    const auto n = exact.size();
    const auto off = cell_difference(**engine_, fresh, exact, 0, n);
    EXPECT_LT(off.most, 0.05F * off.size);  // blocks are bfloat16
    EXPECT_LT(difference((*engine_)->logits(exact), (*engine_)->logits(fresh)), 0.1F);
    if (!bfloat16()) continue;
    // Nothing is lost: the same calls give the same bits.
    const Sequence plain = plain_read(plan, what);
    EXPECT_EQ(cell_difference(**engine_, plain, exact, 0, n).most, 0);
    const auto a = (*engine_)->logits(plain), b = (*engine_)->logits(exact);
    EXPECT_EQ(std::memcmp(a.data(), b.data(), a.size_bytes()), 0);
  }
  EXPECT_GT(loaded, 1000);
  EXPECT_GT(computed, 1000);
}

TEST_P(ReuseProperties, RepairOfAllIsAFullRead) {
  const double bound = bfloat16() ? 0.05 : 1e-3;
  double unrepaired = 0;
  for (unsigned seed = 1; seed <= kSeeds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    PromptPlan plan = first_plan(random);
    for (std::size_t changes = random() % 4; changes > 0; --changes) change(plan, random);
    // Every part as a block that was computed alone.
    auto stitched = (*engine_)->new_sequence();
    for (const PlanPart& part : plan.parts | std::views::take(plan.parts.size() - 1)) {
      engine::KvBlock block;
      engine::PrefillOptions options;
      options.capture = &block;
      (void)engine_->read(part.tokens, options);
      ASSERT_TRUE((*engine_)->place(*stitched, block, part.tokens, stitched->size()).has_value());
    }
    std::vector<std::int32_t> all(static_cast<std::size_t>(stitched->size()));
    std::iota(all.begin(), all.end(), 0);
    auto left = stitched->fork(stitched->size());
    const auto& question = plan.parts.back().tokens;
    ASSERT_TRUE((*engine_)->prefill(left, question).has_value());
    engine::PrefillOptions options;
    options.repair = all;
    ASSERT_TRUE((*engine_)->prefill(*stitched, question, options).has_value());
    const Sequence fresh = read(plan, nullptr);
    ASSERT_TRUE(std::ranges::equal(stitched->tokens(), fresh.tokens()));
    ASSERT_TRUE(std::ranges::equal(stitched->positions(), fresh.positions()));
    const auto off = cell_difference(**engine_, fresh, *stitched, 0, fresh.size());
    EXPECT_LT(off.most, bound * off.size);
    EXPECT_LT(difference((*engine_)->logits(*stitched), (*engine_)->logits(fresh)), bound);
    unrepaired =
        std::max<double>(unrepaired, difference((*engine_)->logits(left), (*engine_)->logits(fresh)));
  }
  EXPECT_GT(unrepaired, 4 * bound);
}

// By way of the resolver: what has moved is placed, and all of it repaired.
TEST_P(ReuseProperties, EverythingGuidedIsAFullRead) {
  std::int64_t repaired = 0;
  for (unsigned seed = 1; seed <= kSeeds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    PromptPlan plan = first_plan(random);
    BlockCache blocks({});
    Reuse names = reuse(blocks);
    warm(plan, names);
    for (std::size_t changes = 1 + random() % 4; changes > 0; --changes) change(plan, random);
    names.repair = RepairPolicy{.guided = 1};
    PlanRead what;
    const Sequence reused = read(plan, &names, &what), fresh = read(plan, nullptr);
    ASSERT_TRUE(std::ranges::equal(reused.tokens(), fresh.tokens()));
    ASSERT_TRUE(std::ranges::equal(reused.positions(), fresh.positions()));
    for (const PartRead& part : what.parts) repaired += part.repaired;
    const auto off = cell_difference(**engine_, fresh, reused, 0, fresh.size());
    EXPECT_LT(off.most, 0.05F * off.size);
    EXPECT_LT(difference((*engine_)->logits(reused), (*engine_)->logits(fresh)), 0.1F);
  }
  EXPECT_GT(repaired, 500);
}

// Nothing is left to compute but what gives the logits (C11).
class NothingLeft : public ReuseProperties {
 protected:
  /// Header and chunks of 64 tokens, stored, then `closing`.
  PromptPlan plan(std::vector<PlanPart> closing) {
    PromptPlan plan;
    plan.parts = {part_of(PartKind::kHeader, 9, 1), part_of(PartKind::kFile, 64, 2, "a"),
                  part_of(PartKind::kFile, 64, 3, "a")};
    plan.parts.insert(plan.parts.end(), closing.begin(), closing.end());
    return plan;
  }

  void expect_an_answer(const PromptPlan& asked, const Reuse& names) {
    const Sequence fresh = read(asked, nullptr);
    const Sequence reused = read(asked, &names);
    EXPECT_EQ(reused.size(), static_cast<std::int32_t>(asked.size()));
    ASSERT_FALSE((*engine_)->logits(reused).empty());
    EXPECT_LT(difference((*engine_)->logits(reused), (*engine_)->logits(fresh)), 0.1F);
    auto going_on = read(asked, &names);
    engine::GenerateParams params;
    params.max_tokens = 3;
    EXPECT_TRUE((*engine_)->generate(going_on, params, {}).has_value());
  }
};
INSTANTIATE_TEST_SUITE_P(Types, NothingLeft, ::testing::Values(ComputeType::kFloat32),
                         [](const auto&) { return "Float32"; });

TEST_P(NothingLeft, IsStillAnswered) {
  BlockCache blocks({});
  Reuse names = reuse(blocks);
  warm(plan({part_of(PartKind::kLiteral, 5, 9)}), names);
  for (const bool repairs : {false, true}) {
    if (repairs) names.repair = RepairPolicy{.seam = 4, .guided = 0.4F, .blend = 0.2F};
    expect_an_answer(plan({}), names);                                   // exactly the warmed text
    expect_an_answer(plan({part_of(PartKind::kLiteral, 0, 9)}), names);  // an empty question
    expect_an_answer(plan({part_of(PartKind::kLiteral, 1, 9)}), names);  // one token
    PromptPlan moved = plan({part_of(PartKind::kLiteral, 0, 9)});
    std::swap(moved.parts[1], moved.parts[2]);
    expect_an_answer(moved, names);
    moved.parts.pop_back();
    expect_an_answer(moved, names);
  }
}

}  // namespace
}  // namespace kvboost::daemon
