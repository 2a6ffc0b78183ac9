// SPDX-License-Identifier: Apache-2.0
// GroupRun: computes the blocks of one group that are not stored yet, and hands them to the cache as the
// engine gets through them. It can be stopped at any moment and goes on behind the last whole block when run
// again: this is how warm gives way to requests. Made by a warmer, run on the engine thread only, one run at
// a time.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <stop_token>

#include "daemon/pipeline/block_cache.h"
#include "daemon/pipeline/file_blocks.h"
#include "daemon/pipeline/model_host.h"

namespace kvboost::daemon {

class GroupRun {
 public:
  /// What was computed since the last call, the header not among it. On the engine thread.
  using Tell = std::function<void(std::int64_t chunks, std::int64_t tokens)>;

  /// Parts from `end` on are left alone.
  GroupRun(BlockGroup group, std::size_t end, Tell tell = {})
      : group_(std::move(group)), end_(end), tell_(std::move(tell)) {}

  /// True: all is done. False: stopped, run it again. kCancelled never; other errors are final.
  [[nodiscard]] Result<bool> run(LoadedModel& model, BlockCache& blocks, const std::stop_token& stop);

 private:
  [[nodiscard]] Result<void> begin(LoadedModel& model, BlockCache& blocks);
  [[nodiscard]] Result<bool> compute(LoadedModel& model, BlockCache& blocks, const std::stop_token& stop);
  [[nodiscard]] std::size_t end_of_piece(const LoadedModel& model, BlockCache& blocks) const;
  [[nodiscard]] std::span<const BlockPart> parts(std::size_t begin, std::size_t end) const {
    return std::span(group_).subspan(begin, end - begin);
  }

  const BlockGroup group_;
  const std::size_t end_;
  const Tell tell_;
  std::optional<engine::Sequence> sequence_;
  std::size_t next_ = 0;  // part that the sequence goes on with
};

}  // namespace kvboost::daemon
