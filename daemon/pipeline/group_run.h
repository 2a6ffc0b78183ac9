// SPDX-License-Identifier: Apache-2.0
// GroupRun: computes the blocks of one group that are not stored yet, and hands them to the cache. It can be
// stopped at any moment and goes on from the last whole piece when run again: this is how warm gives way to
// requests. Made by a warmer, run on the engine thread only, one run at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <stop_token>

#include "daemon/pipeline/block_cache.h"
#include "daemon/pipeline/file_blocks.h"
#include "daemon/pipeline/model_host.h"

namespace kvboost::daemon {

class GroupRun {
 public:
  /// Parts from `end` on are left alone.
  GroupRun(BlockGroup group, std::size_t end) : group_(std::move(group)), end_(end) {}

  /// True: all is done. False: stopped, run it again. kCancelled never; other errors are final.
  [[nodiscard]] Result<bool> run(LoadedModel& model, BlockCache& blocks, const std::stop_token& stop);

  [[nodiscard]] std::int64_t computed_chunks() const { return computed_chunks_; }
  [[nodiscard]] std::int64_t computed_tokens() const { return computed_tokens_; }

 private:
  [[nodiscard]] Result<bool> compute(LoadedModel& model, BlockCache& blocks, const std::stop_token& stop);

  const BlockGroup group_;
  const std::size_t end_;
  std::optional<engine::Sequence> sequence_;
  std::size_t next_ = 0;  // part
  std::int64_t computed_chunks_ = 0;
  std::int64_t computed_tokens_ = 0;
};

}  // namespace kvboost::daemon
