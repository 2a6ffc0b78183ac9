// SPDX-License-Identifier: Apache-2.0
#include "daemon/pipeline/live_sequences.h"

#include <algorithm>
#include <utility>

namespace kvboost::daemon {
namespace {

std::int32_t shared_prefix(const LiveSequence& live, std::span<const engine::TokenId> tokens) {
  const auto cells = live.sequence.tokens();
  const auto positions = live.sequence.positions();
  const std::size_t most = std::min(cells.size(), tokens.size() - 1);
  std::size_t n = 0;
  while (n < most && cells[n] == tokens[n] && positions[n] == static_cast<std::int32_t>(n)) ++n;
  const auto shared = static_cast<std::int32_t>(n);
  if (live.kind == LiveKind::kCompletion) return shared;
  const bool same_prompt = n == most && tokens.size() == static_cast<std::size_t>(live.prompt_tokens);
  return n == cells.size() || same_prompt ? shared : std::min(shared, live.exact_tokens);
}

}  // namespace

LiveSequences::LiveSequences(engine::Engine& engine, std::int32_t max_sequences, std::uint64_t max_bytes)
    : engine_(&engine), max_sequences_(std::max(1, max_sequences)), max_bytes_(max_bytes) {}

Result<LiveSequence> LiveSequences::take(std::span<const engine::TokenId> tokens, LiveKind kind) {
  auto best = kept_.end();
  std::int32_t best_shared = 0;
  for (auto it = kept_.begin(); it != kept_.end(); ++it) {
    const std::int32_t shared = tokens.empty() || it->kind != kind ? 0 : shared_prefix(*it, tokens);
    if (shared > best_shared) {
      best = it;
      best_shared = shared;
    }
  }
  if (best == kept_.end()) {
    auto made = engine_->new_sequence();
    if (!made) return fail(made.error());
    return LiveSequence{std::move(*made), 0, 0, kind};
  }
  // Cutting loses what stands behind the prefix. While there is room for another sequence, one that would
  // lose more than it gives (another conversation that merely begins alike) is copied instead.
  const bool room = count() < max_sequences_;
  const std::int32_t exact = std::min(best->exact_tokens, best_shared);
  if (room && best->sequence.size() - best_shared > best_shared)
    return LiveSequence{best->sequence.fork(best_shared), exact, best->prompt_tokens, kind};
  LiveSequence taken{std::move(best->sequence), exact, best->prompt_tokens, kind};
  kept_.erase(best);
  taken.sequence.truncate(best_shared);
  return taken;
}

void LiveSequences::give_back(LiveSequence sequence) {
  kept_.push_front(std::move(sequence));
  while (count() > max_sequences_ || (bytes() > max_bytes_ && count() > 1)) kept_.pop_back();
  if (bytes() > max_bytes_) kept_.clear();
}

std::uint64_t LiveSequences::bytes() const {
  std::uint64_t sum = 0;
  for (const auto& sequence : kept_) sum += sequence.sequence.bytes();
  return sum;
}

}  // namespace kvboost::daemon
