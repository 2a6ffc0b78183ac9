// SPDX-License-Identifier: Apache-2.0
// Blocks that are computed behind pieces of their repository's other files: which pieces, and that such
// blocks are made, found and renewed where the model may be served from them, and nowhere else.
#include "daemon/pipeline/neighbours.h"

#include "daemon/pipeline/resolver.h"
#include "tests/daemon/pipeline/warmer_fixture.h"

namespace kvboost::daemon {
namespace {

class NeighboursTest : public WarmerTest {
 protected:
  NeighboursTest() {
    for (int i = 0; i < 18; ++i) tree_.write(name(i), functions("f" + std::to_string(i) + "_", 8));
    restart(ReuseChoice::kUnrepaired);
  }

  static std::string name(int i) {
    return "src/part" + std::to_string(i / 10) + std::to_string(i % 10) + ".c";
  }

  void restart(ReuseChoice choice) {
    stop();
    choice_ = choice;
    start();
    EXPECT_TRUE(repository_->refresh({}).has_value());
  }

  NeighbourRun run() { return daemon_->neighbours.find(*lease(), tree_.root().string()); }
  ModelHost::Lease lease() { return std::move(*daemon_->host.acquire({}, {})); }

  Digest header_key() {
    const auto model = lease();
    return cache::KeyChain(model->names->context).next(model->chat.header()).prefix;
  }

  /// Whether all of the file's blocks are stored as they are behind the neighbours.
  bool is_near(const std::string& path) {
    const auto file = daemon_->manifest.find(tree_.root().string(), path);
    if (!file || !*file || (*file)->chunks.empty()) return false;
    const auto& chunks = (*file)->chunks;
    return chunks.front().prefix == cache::prefix_key(run().end, chunks.front().content) &&
           std::ranges::all_of(chunks, [&](const auto& chunk) { return daemon_->blocks.has(chunk.prefix); });
  }
  /// All files but the neighbours' own are to be near.
  void expect_near() {
    const NeighbourRun behind = run();
    EXPECT_EQ(behind.paths.size(), 4U);
    for (const std::string& path : repository_->files())
      EXPECT_EQ(is_near(path), !behind.paths.contains(path)) << path;
  }
};

TEST_F(NeighboursTest, AreOfFilesThatStandFarFromEachOther) {
  const auto pieces = choose_neighbours(*repository_, lease()->engine->tokenizer());
  ASSERT_EQ(pieces.size(), 4U);
  std::set<std::string> paths;
  for (const cache::Neighbour& piece : pieces) {
    paths.insert(piece.path);
    EXPECT_NE(repository_->read(piece.path)->find(piece.text), std::string::npos);
    EXPECT_GT(piece.text.size(), 100U);
  }
  EXPECT_EQ(paths.size(), 4U);
}

TEST_F(NeighboursTest, AFewFilesHaveNone) {
  for (int i = 10; i < 18; ++i) std::filesystem::remove(tree_.root() / name(i));
  ASSERT_TRUE(repository_->refresh({}).has_value());
  EXPECT_TRUE(choose_neighbours(*repository_, lease()->engine->tokenizer()).empty());
  warmed();
  EXPECT_TRUE(run().tokens.empty());
}

TEST_F(NeighboursTest, TakeAnEighthOfTheContextAtMost) {
  const auto model = lease();
  const auto pieces = choose_neighbours(*repository_, model->engine->tokenizer());
  const auto run_in = [&](std::int32_t context) {
    return neighbour_run(pieces, model->engine->tokenizer(), model->chat, model->names->context, context);
  };
  EXPECT_EQ(run_in(800).tokens.size(), 100U);
  EXPECT_GT(run_in(1 << 20).tokens.size(), 500U);
  EXPECT_LE(run_in(1 << 20).tokens.size(), 1000U);
  EXPECT_NE(run_in(800).end, run_in(1600).end);
  EXPECT_TRUE(
      neighbour_run({}, model->engine->tokenizer(), model->chat, model->names->context, 800).tokens.empty());
}

TEST_F(NeighboursTest, BlocksAreComputedBehindThemAndTheHeaderStaysExact) {
  const auto result = warmed();
  const NeighbourRun behind = run();
  ASSERT_FALSE(behind.tokens.empty());
  expect_near();
  EXPECT_TRUE(daemon_->blocks.has(header_key()));
  EXPECT_EQ(warmed().computed_chunks + warmed().later_chunks, 0);
  EXPECT_GT(result.computed_chunks, 0);
  restart(ReuseChoice::kUnrepaired);
  EXPECT_EQ(run().tokens, behind.tokens);
  EXPECT_EQ(warmed().computed_chunks + warmed().later_chunks, 0);
}

TEST_F(NeighboursTest, AnEditOfTheirFilesLeavesTheBlocksAsTheyAre) {
  warmed();
  const NeighbourRun before = run();
  for (const std::string& path : before.paths) tree_.write(path, functions("other", 8));
  const auto again = warmed();
  EXPECT_EQ(run().tokens, before.tokens);
  EXPECT_EQ(again.later_chunks, 0);
  wait_for_renewals();
  expect_near();
}

TEST_F(NeighboursTest, AModelThatMayNotBeServedFromSuchBlocksGetsNone) {
  restart(ReuseChoice::kExact);
  warmed();
  EXPECT_TRUE(run().tokens.empty());
  EXPECT_FALSE(is_near(name(1)));
  EXPECT_GT(ask(name(1)).loaded, 0);  // behind the header, as an exact block
}

TEST_F(NeighboursTest, AFileInAnyPlaceIsFoundByThem) {
  warmed();
  const auto model = lease();
  const NeighbourRun behind = run();
  std::vector<std::string> paths = {name(1), name(10), "a.c"};
  std::erase_if(paths, [&](const std::string& path) { return behind.paths.contains(path); });
  const auto plan = assemble(*repository_, {"What?", paths, tree_.root(), 8000}, model->chat,
                             model->engine->tokenizer(), {});
  const auto resolved = resolve(*plan, model->names->context, behind.end, daemon_->blocks);
  const auto without = resolve(*plan, model->names->context, {}, daemon_->blocks);
  for (std::size_t i = 0; i < resolved.size(); ++i) {
    const PartKind kind = plan->parts[i].kind;
    EXPECT_EQ(resolved[i].match, kind == PartKind::kHeader ? Match::kExact
                                 : kind == PartKind::kFile ? Match::kApproximate
                                                           : Match::kMiss);
    EXPECT_EQ(resolved[i].near, kind == PartKind::kFile);
    EXPECT_FALSE(without[i].near);
  }
}

// The model is tried after its blocks were computed behind the header alone.
TEST_F(NeighboursTest, BlocksOfBeforeAreRenewed) {
  restart(ReuseChoice::kExact);
  const auto first = warmed();
  restart(ReuseChoice::kUnrepaired);
  daemon_->warmer.renew(repository_, *lease());
  wait_for_renewals();
  expect_near();
  const auto after = warmed();
  EXPECT_EQ(after.chunks, first.chunks);
  EXPECT_EQ(after.computed_chunks + after.later_chunks, 0);
}

// A warm that has much to compute has the model tried first.
TEST_F(NeighboursTest, ALargeWarmTriesTheModelFirst) {
  worth_a_trial_ = 1;
  tolerance_ = 10;
  restart(ReuseChoice::kAuto);
  std::vector<std::string> stages;
  const auto result = warm({}, false, [&](const auto& progress) {
    if (stages.empty() || stages.back() != progress.stage) stages.push_back(progress.stage);
  });
  ASSERT_TRUE(result.has_value()) << result.error().text();
  EXPECT_NE(std::ranges::find(stages, "trying"), stages.end());
  EXPECT_FALSE(run().tokens.empty());
  expect_near();
  EXPECT_EQ(result->files, std::ssize(repository_->files()));
  EXPECT_EQ(warmed().computed_chunks, 0);
}

// What a trial would say decides nothing where the user has chosen.
TEST_F(NeighboursTest, ATrialIsWorthItOnlyWhereItDecides) {
  for (const ReuseChoice choice : {ReuseChoice::kExact, ReuseChoice::kUnrepaired}) {
    restart(choice);
    EXPECT_FALSE(daemon_->neighbours.is_untried(*lease()));
  }
  restart(ReuseChoice::kAuto);
  EXPECT_TRUE(daemon_->neighbours.is_untried(*lease()));
}

// The trial gives way to another model, as every request does.
TEST_F(NeighboursTest, AModelChosenDuringTheTrialEndsTheWarm) {
  worth_a_trial_ = 1;
  restart(ReuseChoice::kAuto);
  bool chosen = false;
  const auto result = warm({}, false, [&](const auto& progress) {
    if (progress.stage != "reading" || std::exchange(chosen, true)) return;
    wanted_ = models_ / "b.gguf";
    daemon_->host.reload();
  });
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().code, ErrorCode::kBusy);
}

}  // namespace
}  // namespace kvboost::daemon
