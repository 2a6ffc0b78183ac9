// SPDX-License-Identifier: Apache-2.0
// What stands behind Engine and Sequence: shared by the files that implement them, and by nobody else.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "engine/kv/sequence_kv.h"
#include "engine/model/transformer.h"

namespace kvboost::engine {

/// Runs `body` (a Result-returning function) and turns what libraries throw into errors.
template <class Body>
auto guarded(const Body& body) -> decltype(body()) {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return fail(ErrorCode::kInternal, "not enough memory", "close other programs, or set a smaller context");
  } catch (const std::exception& error) {
    return fail(ErrorCode::kInternal, std::string("torch: ") + error.what());
  }
}

inline bool all_finite(std::span<const float> values) {
  return std::ranges::all_of(values, [](float value) { return std::isfinite(value); });
}

inline Error not_a_number() {
  return {ErrorCode::kModel, "the model's output is not a number",
          "the file may be damaged: fetch it again, or choose compute type f32"};
}

struct Sequence::Impl {
  SequenceKv kv;
  std::vector<float> logits;  // behind the last cell; empty if they aren't known
};

struct Engine::Impl {
  ModelSpec spec;
  Tokenizer tokenizer;
  EngineInfo info;
  std::unique_ptr<Transformer> transformer;

  /// Where each block's logits go, called after each forward: (its first token's index in the call, its
  /// size).
  using AfterBlock = std::function<void(std::int32_t first, std::int32_t count)>;

  Result<void> check_call(const Sequence& sequence, std::span<const TokenId> tokens) const;
  struct Work;
  static Result<Work> work_of(const SequenceKv& kv, std::span<const TokenId> tokens,
                              const PrefillOptions& options);
  Result<void> run(Sequence& sequence, std::span<const TokenId> tokens, const PrefillOptions& options,
                   const AfterBlock& after_block);
  bool run_blocks(Sequence::Impl& sequence, const Work& work, const PrefillOptions& options,
                  const AfterBlock& after_block);
};

}  // namespace kvboost::engine
