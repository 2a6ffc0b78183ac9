// SPDX-License-Identifier: Apache-2.0
#include "daemon/pipeline/group_run.h"

#include <chrono>
#include <utility>

namespace kvboost::daemon {
namespace {

// Tokens that are computed in one go, and lost when it is stopped: fewer make the engine slow, since each go
// reads all weights.
constexpr std::size_t kPieceTokens = 512;

}  // namespace

Result<bool> GroupRun::run(LoadedModel& model, BlockCache& blocks, const std::stop_token& stop) {
  if (!sequence_) {
    auto made = model.engine->new_sequence();
    if (!made) return fail(made.error());
    sequence_.emplace(std::move(*made));
  }
  while (next_ < end_) {
    if (stop.stop_requested()) return false;
    const BlockPart& part = group_[next_];
    if (const auto block = blocks.load(part.key.prefix);
        block && block->n_tokens == std::ssize(part.tokens)) {
      auto placed = model.engine->place(*sequence_, *block, part.tokens, sequence_->size());
      if (!placed) return fail(placed.error());
      ++next_;
      continue;
    }
    auto computed = compute(model, blocks, stop);
    if (!computed || !*computed) return computed;
  }
  sequence_.reset();
  return true;
}

/// The parts from the next one on that are not stored, up to a piece of them.
Result<bool> GroupRun::compute(LoadedModel& model, BlockCache& blocks, const std::stop_token& stop) {
  CapturedRun run;
  run.model = model.names->model;
  std::vector<engine::TokenId> tokens;
  std::size_t end = next_;
  std::int64_t chunks = 0;
  while (end < end_ && tokens.size() < kPieceTokens &&
         (end == next_ || !blocks.has(group_[end].key.prefix))) {
    chunks += end >= kFirstChunk ? 1 : 0;
    const BlockPart& part = group_[end++];
    run.cuts.push_back(
        {part.key, static_cast<std::int32_t>(tokens.size()), static_cast<std::int32_t>(part.tokens.size())});
    tokens.insert(tokens.end(), part.tokens.begin(), part.tokens.end());
  }
  engine::PrefillOptions options;
  options.capture = &run.block;
  options.stop = stop;
  const auto start = std::chrono::steady_clock::now();
  if (auto read = model.engine->prefill(*sequence_, tokens, options); !read) {
    if (read.error().code == ErrorCode::kCancelled) return false;
    return fail(read.error());
  }
  const std::chrono::duration<float, std::milli> took = std::chrono::steady_clock::now() - start;
  run.ms_per_token = took.count() / static_cast<float>(tokens.size());
  computed_chunks_ += chunks;
  computed_tokens_ += static_cast<std::int64_t>(tokens.size());
  blocks.store_behind(std::move(run));
  next_ = end;
  return true;
}

}  // namespace kvboost::daemon
