// SPDX-License-Identifier: Apache-2.0
#include "daemon/pipeline/block_cache.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace kvboost::daemon {
namespace {

/// A block of its own, of 64 KB.
CapturedRun run_of(int number) {
  auto block = std::make_shared<engine::KvBlock>();
  block->shape = {1, 1, 128};
  block->n_tokens = 128;
  block->data.resize(2 * block->plane(), static_cast<std::uint16_t>(number));
  CapturedRun run{.model = sha256("a model")};
  const std::string name = std::to_string(number);
  run.cuts.push_back({{.content = sha256("text " + name), .prefix = sha256(name)}, 0, block->n_tokens});
  run.block = std::move(block);
  return run;
}

// What is computed faster than it is stored must not grow without bounds beside what is stored.
TEST(BlockCacheBudget, CoversWhatWaitsToBeStored) {
  const std::uint64_t most = 1 << 20;
  BlockCache blocks({.max_memory = most});
  int taken = 0;
  std::uint64_t waited = 0;
  for (int i = 0; i < 2000; ++i) {
    taken += blocks.store_behind(run_of(i)) ? 1 : 0;
    waited = std::max(waited, blocks.queued_bytes());
  }
  EXPECT_GT(taken, 0);
  EXPECT_GT(waited, 0U);
  blocks.flush();
  const cache::TierStats memory = blocks.store().stats().front();
  EXPECT_GT(memory.used, 0U);
  EXPECT_LE(memory.used, memory.limit);
  EXPECT_LE(memory.limit + waited, most);
}

TEST(BlockCacheBudget, TakesARunThatIsLargerThanTheQueueWhenNothingWaits) {
  BlockCache blocks({.max_memory = 128 << 10});
  EXPECT_TRUE(blocks.store_behind(run_of(1)));
  blocks.flush();
  EXPECT_TRUE(blocks.has(sha256("1")));
}

}  // namespace
}  // namespace kvboost::daemon
