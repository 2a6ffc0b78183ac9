// SPDX-License-Identifier: Apache-2.0
// Transformer: the layers of a decoder, in one compute type. Owned by the engine, used on its thread. Library
// exceptions (no memory, torch) come through; the engine turns them into errors.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <stop_token>
#include <vector>

#include "base/error.h"
#include "engine/engine.h"
#include "engine/kv/sequence_kv.h"
#include "engine/model/gguf.h"

namespace kvboost::engine {

/// Collects what the tokens of a forward attend to.
struct AttentionShare {
  std::int32_t first_layer = 0;
  std::vector<float> of_cell;  // (cells before the forward): sums over tokens, heads and layers
};

/// How far the values of the tokens of a forward are from those that their cells held.
struct ValueDeviation {
  std::int32_t layer = 0;
  ValueDistance distance = ValueDistance::kL2;
  std::vector<float> of_token;
};

class Transformer {
 public:
  virtual ~Transformer() = default;

  /// Tokens that one forward may take: few enough that the longest step between two looks at the stop token
  /// is short.
  [[nodiscard]] virtual std::int32_t most_tokens() const = 0;
  [[nodiscard]] virtual std::uint64_t weight_bytes() const = 0;
  [[nodiscard]] virtual SequenceKv new_kv() const = 0;

  /// Tokens of one sequence.
  struct Lane {
    SequenceKv* kv = nullptr;
    std::span<const TokenId> tokens;
    std::span<const std::int32_t> positions;
    std::span<const std::int32_t> cells;  // ascending; those below kv->size() are written over
  };
  struct Input {
    std::span<const Lane> lanes;  // at most most_tokens() in all; a sequence is in one of them only
    std::stop_token stop{};
    // What follows is for a single lane.
    KvBlock* capture = nullptr;   // sized by the caller; gets these tokens' keys and values ...
    std::int32_t capture_at = 0;  // ... from its token `capture_at` on
    std::int32_t end_layer = 0;   // 0: through all
    AttentionShare* share = nullptr;
    ValueDeviation* deviation = nullptr;  // when set, all ends with what its layer writes
  };
  /// Runs tokens through all layers: writes their cells, each seeing those of its sequence up to its own. The
  /// caller commits the new ones.
  /// False: stopped half-way.
  [[nodiscard]] virtual bool forward(const Input& input) = 0;

  /// Logits of `count` tokens of the last forward, from its token `first` on: (count, vocabulary).
  virtual void logits(std::int32_t first, std::int32_t count, float* out) = 0;

  /// A token that may stand behind one of the last forward's, which are counted through all lanes.
  struct Next {
    std::int32_t behind = 0;
    TokenId token = 0;
  };
  /// ln P of each. False: stopped.
  [[nodiscard]] virtual bool log_likelihood(std::span<const Next> of, std::span<float> out,
                                            const std::stop_token& stop) = 0;

  /// Writes a block's cells behind what `kv` holds, its keys rotated to `positions`; the caller commits.
  virtual void place(SequenceKv& kv, const KvBlock& block, std::span<const std::int32_t> positions) = 0;
};

/// `compute` is kBFloat16 or kFloat32. `spec` must outlive the result; `gguf` is read here and no more.
[[nodiscard]] Result<std::unique_ptr<Transformer>> load_transformer(
    const Gguf& gguf, const ModelSpec& spec, ComputeType compute, const std::function<void(double)>& progress,
    const std::stop_token& stop);

}  // namespace kvboost::engine
