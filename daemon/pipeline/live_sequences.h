// SPDX-License-Identifier: Apache-2.0
// LiveSequences: the KV of the last few requests, kept so that a prompt which begins like one of them
// continues it instead of being read again. What was repaired for one question is gone on from for the same
// prompt, or as a whole, or not at all: another question needs other repairs. Completions have their own.
// Engine thread only; the engine must outlive it.
#pragma once

#include <cstdint>
#include <list>
#include <optional>
#include <span>

#include "base/error.h"
#include "engine/engine.h"

namespace kvboost::daemon {

/// What a sequence was read for. What was repaired for a completion serves the next key as well: it asks from
/// nearly the same place.
enum class LiveKind { kAnswer, kCompletion };

/// A sequence, and up to which token it is what a full read gives.
struct LiveSequence {
  engine::Sequence sequence;
  std::int32_t exact_tokens = 0;
  std::int32_t prompt_tokens = 0;  // of the prompt that it was read for; the rest is its answer
  LiveKind kind = LiveKind::kAnswer;
};

class LiveSequences {
 public:
  /// Keeps at most `max_sequences`, and at most `max_bytes` in those that are not in use.
  LiveSequences(engine::Engine& engine, std::int32_t max_sequences, std::uint64_t max_bytes);

  /// What shares the longest prefix with `tokens`, cut to that prefix, or copied up to it where the rest is
  /// worth keeping; an empty sequence when nothing does. The prefix is at least one token shorter than
  /// `tokens`, since something must be computed to have logits. It is the caller's until it is given back.
  /// Only those of the same kind are looked at.
  [[nodiscard]] Result<LiveSequence> take(std::span<const engine::TokenId> tokens,
                                          LiveKind kind = LiveKind::kAnswer);

  /// Keeps a sequence as the most recent, and forgets the oldest ones beyond the limits.
  void give_back(LiveSequence sequence);

  [[nodiscard]] std::int32_t count() const { return static_cast<std::int32_t>(kept_.size()); }
  [[nodiscard]] std::uint64_t bytes() const;

 private:
  engine::Engine* engine_;
  std::int32_t max_sequences_;
  std::uint64_t max_bytes_;
  std::list<LiveSequence> kept_;  // most recent first
};

}  // namespace kvboost::daemon
