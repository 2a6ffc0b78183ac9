// SPDX-License-Identifier: Apache-2.0
#include "daemon/pipeline/warmer.h"

#include <atomic>

#include "tests/daemon/pipeline/warmer_fixture.h"

namespace kvboost::daemon {
namespace {

TEST_F(WarmerTest, ComputesEachChunkOnce) {
  const auto first = warmed();
  EXPECT_EQ(first.files, 2);
  EXPECT_GT(first.chunks, 5);
  EXPECT_EQ(first.computed_chunks, first.chunks);
  EXPECT_GT(first.computed_tokens, 500);
  EXPECT_GT(first.stored_bytes, 0U);
  EXPECT_EQ(first.later_chunks, 0);
  const auto again = warmed();
  EXPECT_EQ(again.chunks, first.chunks);
  EXPECT_EQ(again.computed_chunks, 0);
  EXPECT_EQ(again.computed_tokens, 0);
}

TEST_F(WarmerTest, AWarmedFileIsLoadedAndAnswersAsIfRead) {
  warmed();
  for (const char* path : {"a.c", "b.c"}) {
    const Asked asked = ask(path);
    EXPECT_GT(asked.loaded, asked.computed) << path;
    EXPECT_LT(asked.difference, 0.05F) << path;
  }
}

TEST_F(WarmerTest, SurvivesARestart) {
  const auto first = warmed();
  stop();
  start();
  const auto again = warmed();
  EXPECT_EQ(again.computed_chunks, 0);
  EXPECT_EQ(again.chunks, first.chunks);
  EXPECT_EQ(daemon_->manifest.roots().front().files, 2U);
  EXPECT_GT(ask("b.c").loaded, 100);
}

TEST_F(WarmerTest, AnEditCostsTheChunksItTouches) {
  warmed();
  std::string text = functions("alpha", 20);
  const std::string old = function("alpha3"), edited = function("alpha3", "value - 7");
  text.replace(text.find(old), old.size(), edited);
  tree_.write("a.c", text);
  const auto after = warmed();
  EXPECT_GE(after.computed_chunks, 1);
  EXPECT_LE(after.computed_chunks, 2);
  EXPECT_GT(after.later_chunks, 0);
  wait_for_renewals();
  const Asked asked = ask("a.c");
  EXPECT_LT(asked.difference, 0.05F);
  const auto later = warmed();
  EXPECT_EQ(later.computed_chunks, 0);
  EXPECT_EQ(later.later_chunks, 0);
}

// Edits upon edits: of what stands behind them, only the latest former blocks are kept.
TEST_F(WarmerTest, ManyEditsLeaveFewBlocks) {
  warmed();
  const std::string text = functions("alpha", 20);
  const std::string old = function("alpha3");
  const auto edit = [&](int i) {
    std::string edited = text;
    tree_.write("a.c", edited.replace(edited.find(old), old.size(), function("alpha3", std::to_string(i))));
    return warmed();
  };
  for (int i = 0; i < 5; ++i) {
    EXPECT_GT(edit(i).later_chunks, 0);
    wait_for_renewals();
  }
  const auto row = **daemon_->manifest.find(tree_.root().string(), "a.c");
  std::size_t most = 0;
  for (const auto& part : row.chunks) {
    EXPECT_TRUE(daemon_->blocks.has(part.prefix));
    most = std::max(most, daemon_->blocks.store().prefixes_of(part.content)->size());
  }
  EXPECT_EQ(most, 2U);
  EXPECT_EQ(edit(3).later_chunks, 0);  // the text before this one
  EXPECT_EQ(edit(4).later_chunks, 0);
}

TEST_F(WarmerTest, SwitchingABranchAndBackComputesNothingTheSecondTime) {
  warmed();
  tree_.git({"checkout", "-q", "-b", "other"});
  tree_.write("b.c", functions("other", 4));
  tree_.write("c.c", functions("gamma", 4));
  tree_.commit();
  EXPECT_GT(warmed().computed_chunks, 0);
  tree_.git({"checkout", "-q", "-"});
  EXPECT_EQ(warmed().computed_chunks, 0);
  tree_.git({"checkout", "-q", "other"});
  EXPECT_EQ(warmed().computed_chunks, 0);
}

TEST_F(WarmerTest, ADryRunComputesNothing) {
  const auto planned = warm({}, true);
  ASSERT_TRUE(planned.has_value());
  EXPECT_TRUE(planned->dry_run);
  EXPECT_GT(planned->computed_chunks, 5);
  EXPECT_EQ(planned->stored_bytes, 0U);
  EXPECT_EQ(daemon_->blocks.store().stats().back().records, 0U);
  EXPECT_TRUE(daemon_->manifest.roots().empty());
  EXPECT_EQ(warmed().computed_chunks, planned->computed_chunks);
}

TEST_F(WarmerTest, ADryRunWaitsForNobody) {
  write_more();
  EXPECT_TRUE(repository_->refresh({}).has_value());
  std::promise<Result<protocol::WarmResult>> promise;
  std::stop_source stop;
  std::atomic<bool> done = false;
  daemon_->warmer.submit({.repository = repository_, .files = repository_->files(), .stop = stop.get_token()},
                         [&](auto result) {
                           done = true;
                           promise.set_value(std::move(result));
                         });
  while (daemon_->blocks.counts().stored_bytes == 0) std::this_thread::yield();
  EXPECT_TRUE(warm({}, true).has_value());
  EXPECT_FALSE(done);
  stop.request_stop();
  (void)promise.get_future().get();
}

// Header and opening stand before each group: with them it must fit the context.
TEST_F(WarmerTest, GroupsFitASmallContext) {
  EXPECT_TRUE(test::write_tiny_model(models_ / "a.gguf", {.seed = 1, .context = 700}).has_value());
  const auto result = warmed();
  EXPECT_GT(result.computed_chunks, 5);
  EXPECT_EQ(result.computed_chunks, result.chunks);
}

TEST_F(WarmerTest, AnotherModelSharesNothing) {
  const auto first = warmed();
  wanted_ = models_ / "b.gguf";
  daemon_->host.reload();
  EXPECT_EQ(warmed().computed_chunks, first.computed_chunks);
}

TEST_F(WarmerTest, ACancelledWarmKeepsWhatIsDone) {
  write_more();
  std::stop_source stop;
  std::jthread canceller([&] {
    while (daemon_->blocks.counts().stored_bytes == 0) std::this_thread::yield();
    stop.request_stop();
  });
  const auto cancelled = warm(stop.get_token());
  ASSERT_FALSE(cancelled.has_value());
  EXPECT_EQ(cancelled.error().code, ErrorCode::kCancelled);
  daemon_->blocks.flush();
  EXPECT_GT(daemon_->blocks.store().stats().back().records, 0U);
  const auto rest = warmed();
  EXPECT_GT(rest.computed_chunks, 0);
  EXPECT_LT(rest.computed_chunks, rest.chunks);
}

TEST_F(WarmerTest, RequestsOvertakeIt) {
  write_more();
  EXPECT_TRUE(repository_->refresh({}).has_value());
  std::atomic<bool> done = false;
  std::promise<Result<protocol::WarmResult>> promise;
  daemon_->warmer.submit({.repository = repository_, .files = repository_->files(), .whole_tree = true},
                         [&](auto result) {
                           done = true;
                           promise.set_value(std::move(result));
                         });
  while (daemon_->blocks.counts().stored_bytes == 0) std::this_thread::yield();
  int served = 0;
  while (!done && served < 5) {
    std::promise<void> ran;
    daemon_->engine_thread.submit(Priority::kAsk,
                                  {.run = [&] { ran.set_value(); }, .drop = [](const Error&) {}, .stop = {}});
    ran.get_future().wait();
    if (!done) ++served;
  }
  EXPECT_GT(served, 0);
  const auto result = promise.get_future().get();
  ASSERT_TRUE(result.has_value()) << result.error().text();
  EXPECT_EQ(result->computed_chunks, result->chunks);  // a piece that was stopped is computed again, whole
}

TEST_F(WarmerTest, FilesThatAreGoneAreForgotten) {
  warmed();
  tree_.git({"rm", "-q", "b.c"});
  warmed();
  EXPECT_EQ(daemon_->manifest.roots().front().files, 1U);
}

TEST_F(WarmerTest, StopsWhenItsOwnBlocksFillTheDisk) {
  write_more();
  stop();
  limit_disk_ = true;
  std::filesystem::remove_all(models_ / "cache");
  start();
  const auto result = warmed();
  EXPECT_FALSE(result.skipped.empty());
  EXPECT_LT(result.computed_chunks, result.chunks);
}

TEST_F(WarmerTest, OneThatWaitsIsCancelledAtOnce) {
  write_more();
  EXPECT_TRUE(repository_->refresh({}).has_value());
  std::promise<Result<protocol::WarmResult>> running, waiting;
  std::stop_source first, second;
  const std::vector<std::string> files = repository_->files();
  daemon_->warmer.submit({.repository = repository_, .files = files, .stop = first.get_token()},
                         [&](auto result) { running.set_value(std::move(result)); });
  daemon_->warmer.submit({.repository = repository_, .files = files, .stop = second.get_token()},
                         [&](auto result) { waiting.set_value(std::move(result)); });
  second.request_stop();
  auto answer = waiting.get_future();
  ASSERT_EQ(answer.wait_for(std::chrono::seconds(0)), std::future_status::ready);  // on this very thread
  EXPECT_EQ(answer.get().error().code, ErrorCode::kCancelled);
  first.request_stop();
  (void)running.get_future().get();
}

// Once is no reason to think that it comes again.
TEST_F(WarmerTest, APromptThatComesTwiceIsComputedInItsOrder) {
  warmed();
  BlockGroup prompt;
  {
    auto lease = daemon_->host.acquire({}, {});
    const LoadedModel& model = **lease;
    const auto plan = assemble(*repository_, {"What?", {"b.c", "a.c"}, tree_.root(), 8000}, model.chat,
                               model.engine->tokenizer(), {});
    ASSERT_TRUE(plan.has_value());
    prompt = leading_blocks(*plan, model.names->context);
    ASSERT_EQ(prompt.size() + 2, plan->parts.size());  // all but question and closing
  }
  const Digest context = daemon_->host.snapshot().names->context;
  const auto exact = [&] {
    daemon_->blocks.flush();
    return std::ranges::all_of(
        prompt, [&](const BlockPart& part) { return daemon_->blocks.match(part.key) == Match::kExact; });
  };
  daemon_->warmer.improve(context, prompt);
  EXPECT_EQ(daemon_->warmer.to_improve(), 0U);
  EXPECT_FALSE(exact());
  daemon_->warmer.improve(sha256("another model"), prompt);  // whose blocks these are not
  while (daemon_->warmer.to_improve() > 0) std::this_thread::yield();
  EXPECT_FALSE(exact());
  daemon_->warmer.improve(context, prompt);
  while (daemon_->warmer.to_improve() > 0) std::this_thread::yield();
  EXPECT_TRUE(exact());
}

TEST_F(WarmerTest, LeavesWithoutFinishing) {
  write_more();
  EXPECT_TRUE(repository_->refresh({}).has_value());
  std::promise<Result<protocol::WarmResult>> running, waiting;
  const WarmRequest request{.repository = repository_, .files = repository_->files()};
  daemon_->warmer.submit(request, [&](auto result) { running.set_value(std::move(result)); });
  daemon_->warmer.submit(request, [&](auto result) { waiting.set_value(std::move(result)); });
  stop();
  EXPECT_FALSE(running.get_future().get().has_value());
  EXPECT_FALSE(waiting.get_future().get().has_value());
}

}  // namespace
}  // namespace kvboost::daemon
