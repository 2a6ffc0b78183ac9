// SPDX-License-Identifier: Apache-2.0
#include "daemon/pipeline/warm_pass.h"

#include <bit>

#include "daemon/pipeline/group_run.h"
#include "tests/daemon/pipeline/warmer_fixture.h"

namespace kvboost::daemon {
namespace {

// Shown by a row that says something else than cutting the file would.
TEST_F(WarmerTest, AnUnchangedFileIsNotCutAgain) {
  const auto first = warmed();
  const std::string root = tree_.root().string();
  auto row = **daemon_->manifest.find(root, "a.c");
  row.chunks.pop_back();
  EXPECT_TRUE(daemon_->manifest.put(root, "a.c", row).has_value());
  EXPECT_EQ(warmed().chunks, first.chunks - 1);
  tree_.write("a.c", functions("alpha", 20) + "\n");  // other text: it is cut, whatever the row says
  EXPECT_EQ(warmed().chunks, first.chunks);
}

// Nor is its row taken for that of another model, or of another way to cut.
TEST_F(WarmerTest, ARowOfAnotherContextCountsForNothing) {
  const auto first = warmed();
  const std::string root = tree_.root().string();
  auto row = **daemon_->manifest.find(root, "a.c");
  row.context = sha256("another");
  row.chunks.pop_back();
  EXPECT_TRUE(daemon_->manifest.put(root, "a.c", row).has_value());
  EXPECT_EQ(warmed().chunks, first.chunks);
}

TEST_F(WarmerTest, FilesWithTheSameContentAreComputedOnce) {
  tree_.write("c.c", functions("beta", 4));
  std::vector<protocol::WarmProgress> told;
  const auto result = warm({}, false, [&](const auto& progress) { told.push_back(progress); });
  ASSERT_TRUE(result.has_value());
  EXPECT_LT(result->computed_chunks, result->chunks);
  ASSERT_FALSE(told.empty());
  EXPECT_EQ(told.back().tokens, result->computed_tokens);  // all there was to do is done
  EXPECT_EQ(told.back().tokens_done, result->computed_tokens);
  EXPECT_EQ(told.back().files_done, told.back().files);
  wait_for_renewals();
  const auto later = warmed();
  EXPECT_EQ(later.computed_chunks + later.later_chunks, 0);
}

TEST_F(WarmerTest, AWarmTellsWhenItDoesWhat) {
  std::vector<std::string> stages;
  EXPECT_TRUE(warm({}, false, [&](const auto& progress) {
                if (stages.empty() || stages.back() != progress.stage) stages.push_back(progress.stage);
              }).has_value());
  EXPECT_EQ(stages, (std::vector<std::string>{"waiting", "reading", "warming"}));
}

// A group of several of the engine's blocks: what is told and kept, and where it goes on after a stop.
TEST_F(WarmerTest, AGroupIsKeptAsFarAsItIsDone) {
  auto lease = daemon_->host.acquire({}, {});
  LoadedModel& model = **lease;
  const EncodedFile file = cut_and_encode(model.engine->tokenizer(), "a.c", functions("alpha", 20), {});
  const BlockGroup group = group_blocks(file, "a.c", model.chat, model.names->context, 8192).front();
  std::int64_t chunks = 0, tokens = 0, all_tokens = 0;
  int calls = 0;
  std::stop_source stop;
  GroupRun run(group, group.size(), [&](std::int64_t more_chunks, std::int64_t more_tokens) {
    chunks += more_chunks;
    tokens += more_tokens;
    ++calls;
    stop.request_stop();
  });
  const auto go = [&] {
    return on_engine([&] { return run.run(model, daemon_->blocks, stop.get_token()); });
  };
  const auto first = go();
  EXPECT_TRUE(first.has_value() && !*first);
  EXPECT_EQ(calls, 1);
  EXPECT_GT(chunks, 0);
  EXPECT_LT(chunks, std::ssize(group) - 2);
  EXPECT_TRUE(daemon_->blocks.has(group[2].key.prefix));
  EXPECT_FALSE(daemon_->blocks.has(group.back().key.prefix));
  for (stop = std::stop_source(); !*go(); stop = std::stop_source()) EXPECT_LT(calls, 20);
  for (const BlockPart& part : group) {
    EXPECT_TRUE(daemon_->blocks.has(part.key.prefix));
    all_tokens += std::ssize(part.tokens);
  }
  EXPECT_EQ(chunks, std::ssize(group) - 2);
  EXPECT_EQ(tokens, all_tokens - std::ssize(group.front().tokens));
}

// The header is read once for many groups: what stands behind it is the same as if each had loaded it, but
// for what storing it rounds.
TEST_F(WarmerTest, GroupsThatShareAHeaderComeOutAsIfAlone) {
  auto lease = daemon_->host.acquire({}, {});
  LoadedModel& model = **lease;
  const auto group_of = [&](const std::string& path) {
    const EncodedFile file = cut_and_encode(model.engine->tokenizer(), path, functions(path, 4), {});
    return group_blocks(file, path, model.chat, model.names->context, 8192).front();
  };
  const auto compute = [&](const BlockGroup& group) {
    GroupRun run(group, group.size());
    const auto done = on_engine([&] { return run.run(model, daemon_->blocks, {}); });
    EXPECT_TRUE(done.has_value() && *done);
    daemon_->blocks.flush();
    std::vector<float> computed;
    for (const BlockPart& part : std::span(group).subspan(1)) {
      const auto block = daemon_->blocks.load(part.key.prefix);
      EXPECT_TRUE(block.has_value());
      if (!block) continue;
      for (const std::uint16_t bits : block->data)
        computed.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16));
      EXPECT_TRUE(daemon_->blocks.store().erase(part.key.prefix).has_value());
    }
    return computed;
  };
  const BlockGroup first = group_of("first.c"), second = group_of("second.c");
  (void)compute(first);
  ASSERT_TRUE(model.header.has_value());
  EXPECT_TRUE(std::ranges::equal(model.header->tokens(), first.front().tokens));
  const auto behind_live = compute(second);
  model.header.reset();
  const auto behind_stored = compute(second);
  ASSERT_EQ(behind_stored.size(), behind_live.size());
  for (std::size_t i = 0; i < behind_live.size(); ++i) EXPECT_NEAR(behind_stored[i], behind_live[i], 0.05);
  const Digest header = first.front().key.prefix;
  EXPECT_TRUE(daemon_->blocks.store().erase(header).has_value());
  (void)compute(second);  // that it is live does not keep it from being stored again
  EXPECT_TRUE(daemon_->blocks.has(header));
}

}  // namespace
}  // namespace kvboost::daemon
