// SPDX-License-Identifier: Apache-2.0
// write_hints: from a plan to what a person is shown at the cursor: reads what is not live yet, puts the text
// behind the cursor in place, writes, and stops where the hint ends. Engine thread only.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "cache/chunk/cursor_place.h"
#include "daemon/pipeline/live_sequences.h"
#include "daemon/pipeline/plan_reader.h"
#include "daemon/pipeline/step_reader.h"
#include "daemon/prompt/completion_plan.h"
#include "daemon/prompt/edit_buffer.h"
#include "engine/engine.h"

namespace kvboost::daemon {

/// The KV of the text behind a cursor. A key moves it on by a token or two: it is placed again, not computed.
struct SuffixBlock {
  std::vector<engine::TokenId> tokens;
  std::int32_t position = 0;  // that it was computed at
  engine::KvBlock block;
};

/// What stays from one request about a buffer to the next.
struct BufferKv {
  SuffixBlock suffix;
  StepSize step;
};

struct HintRequest {
  const CompletionPlan* plan = nullptr;  // borrowed for the call, like all below
  const EditBuffer* buffer = nullptr;
  cache::CursorPlace place;
  const Reuse* reuse = nullptr;  // null: no stored block is used
  BufferKv* kept = nullptr;      // from request to request; null: nothing is
  bool fresh = false;            // no live sequence is gone on from, and none is left
  std::int32_t alternatives = 1;
  std::int32_t max_tokens = 64;  // of each
  /// Gets the first hint's text as it is written, untrimmed. False stops.
  std::function<bool(std::string_view)> sink;
  std::stop_token stop;
  /// Whether the stop means that time is up: then what is there counts.
  std::function<bool()> is_late;
  /// Whether no further alternative is to be begun; may be empty.
  std::function<bool()> is_enough;
};

struct Hint {
  std::string text;           // may be empty: nothing worth to be shown
  std::string finish_reason;  // "line" "block" "end" "length" "time" "repetition" "context"
  std::int32_t tokens = 0;
};

struct WrittenHints {
  std::vector<Hint> hints;  // the likeliest first, no two with the same text
  std::int32_t prompt_tokens = 0;
  std::int32_t live_tokens = 0;
  std::int32_t loaded_tokens = 0;
  std::int32_t computed_tokens = 0;
  std::int32_t repaired_tokens = 0;
  bool suffix_placed = false;
  PlanRead read;
  double suffix_ms = 0;
  double decode_ms = 0;
};

[[nodiscard]] Result<WrittenHints> write_hints(engine::Engine& engine, LiveSequences& live,
                                               const HintRequest& request);

}  // namespace kvboost::daemon
