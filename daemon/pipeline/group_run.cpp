// SPDX-License-Identifier: Apache-2.0
#include "daemon/pipeline/group_run.h"

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

namespace kvboost::daemon {
namespace {

using Clock = std::chrono::steady_clock;

// What is read in one go. The engine is the faster the less often it has to begin anew, and what it gives is
// held in memory until the go ends.
constexpr std::size_t kPieceTokens = 512;
constexpr std::size_t kPieceBytes = 64'000'000;

/// Hands on what the engine has given of a piece so far, whole parts only.
class PieceStore {
 public:
  PieceStore(const Digest& model, std::shared_ptr<const engine::KvBlock> given,
             std::span<const BlockPart> parts, BlockCache& blocks)
      : model_(model), given_(std::move(given)), parts_(parts), blocks_(blocks) {}

  /// The engine is through with the piece's first `done` tokens. Returns how many parts that completes.
  std::size_t advance(std::int32_t done) {
    CapturedRun run;
    run.model = model_;
    while (stored_parts_ < parts_.size() && stored_tokens_ + size_of(parts_[stored_parts_]) <= done) {
      const BlockPart& part = parts_[stored_parts_++];
      run.cuts.push_back({part.key, stored_tokens_, size_of(part)});
      stored_tokens_ += size_of(part);
    }
    const std::size_t completed = run.cuts.size();
    if (completed == 0) return 0;
    const auto now = Clock::now();
    run.ms_per_token = std::chrono::duration<float, std::milli>(now - std::exchange(since_, now)).count() /
                       static_cast<float>(std::max(done - std::exchange(done_, done), 1));
    run.block = given_;
    blocks_.store_behind(std::move(run));
    return completed;
  }

 private:
  static std::int32_t size_of(const BlockPart& part) { return static_cast<std::int32_t>(part.tokens.size()); }

  const Digest& model_;
  const std::shared_ptr<const engine::KvBlock> given_;
  const std::span<const BlockPart> parts_;
  BlockCache& blocks_;
  std::size_t stored_parts_ = 0;
  std::int32_t stored_tokens_ = 0;
  std::int32_t done_ = 0;
  Clock::time_point since_ = Clock::now();
};

}  // namespace

Result<bool> GroupRun::run(LoadedModel& model, BlockCache& blocks, const std::stop_token& stop) {
  if (!sequence_) {
    if (auto begun = begin(model, blocks); !begun) return fail(begun.error());
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
  sequence_->truncate(static_cast<std::int32_t>(group_.front().tokens.size()));
  model.header = std::move(sequence_);
  sequence_.reset();
  return true;
}

/// With the sequence that the last run left, if it begins as this group does.
Result<void> GroupRun::begin(LoadedModel& model, BlockCache& blocks) {
  sequence_ = std::exchange(model.header, std::nullopt);
  if (sequence_ && std::ranges::equal(sequence_->tokens(), group_.front().tokens) &&
      blocks.has(group_.front().key.prefix)) {
    next_ = 1;
    return {};
  }
  auto made = model.engine->new_sequence();
  if (!made) return fail(made.error());
  sequence_.emplace(std::move(*made));
  return {};
}

/// The parts from the next one on that are not stored, up to a piece of them. One that is stopped leaves the
/// sequence as it was, and what it has handed on is loaded when it is run again.
Result<bool> GroupRun::compute(LoadedModel& model, BlockCache& blocks, const std::stop_token& stop) {
  const std::size_t end = end_of_piece(model, blocks);
  std::vector<engine::TokenId> tokens;
  for (const BlockPart& part : parts(next_, end)) {
    tokens.insert(tokens.end(), part.tokens.begin(), part.tokens.end());
  }
  const auto given = std::make_shared<engine::KvBlock>();
  PieceStore store(model.names->model, given, parts(next_, end), blocks);
  engine::PrefillOptions options;
  options.capture = given.get();
  options.stop = stop;
  options.progress = [&, at = next_](std::int32_t done) mutable {
    std::int64_t n_chunks = 0, n_tokens = 0;
    for (const std::size_t last = at + store.advance(done); at < last; ++at) {
      n_chunks += at >= kFirstChunk ? 1 : 0;
      n_tokens += at > 0 ? std::ssize(group_[at].tokens) : 0;
    }
    if (n_tokens > 0 && tell_) tell_(n_chunks, n_tokens);
  };
  if (auto read = model.engine->prefill(*sequence_, tokens, options); !read) {
    if (read.error().code == ErrorCode::kCancelled) return false;
    return fail(read.error());
  }
  next_ = end;
  return true;
}

std::size_t GroupRun::end_of_piece(const LoadedModel& model, BlockCache& blocks) const {
  const std::size_t most =
      std::max(kPieceTokens, kPieceBytes / model.engine->spec().kv_shape().bytes_per_token());
  std::size_t end = next_;
  std::size_t tokens = 0;
  while (end < end_ && tokens < most && (end == next_ || !blocks.has(group_[end].key.prefix))) {
    tokens += group_[end++].tokens.size();
  }
  return end;
}

}  // namespace kvboost::daemon
