// SPDX-License-Identifier: Apache-2.0
// Engine: a loaded model. The only door to torch, itself torch-free. It knows nothing of caches, files of a
// repository or sockets: it is handed token ids and block bytes.
//
// Threads: `load` and every method that is not const are called on the one engine thread; Sequences belong to
// it too. `spec`, `tokenizer` and `info` may be read from any thread once `load` has returned. Cancellation
// is looked at at least once a layer in prefill and once a token in decode; it leaves the sequence as it was
// before the call.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "engine/kv_block.h"
#include "engine/model_spec.h"
#include "engine/tokenizer.h"

namespace kvboost::engine {

enum class ComputeType { kAuto, kBFloat16, kFloat32 };

struct EngineOptions {
  std::filesystem::path model;               // a GGUF file
  ComputeType compute = ComputeType::kAuto;  // auto: bfloat16 where the CPU has AVX512-BF16 or AMX
  std::int32_t threads = 0;                  // 0: one a physical core
  std::int32_t context = 0;                  // most tokens of a sequence; 0: what the model was trained for
  bool force_tokenizer = false;
};

/// What was chosen at load, and why: shown by `status` and `doctor`.
struct EngineInfo {
  ComputeType compute = ComputeType::kFloat32;
  std::string compute_reason;  // "the CPU has AVX512-BF16"
  std::string blas;            // "OpenBLAS 0.3.21, core Zen", or what torch was linked with
  std::string kernels;         // instruction sets of our own kernels: "avx512bf16, one row: avx512-vnni"
  std::int32_t threads = 0;
  std::int32_t context = 0;
  std::uint64_t weight_bytes = 0;
  double load_seconds = 0;
};

struct SamplingParams {
  float temperature = 0.0F;  // 0: greedy
  std::int32_t top_k = 0;    // 0: off
  float top_p = 1.0F;
  float min_p = 0.0F;
  std::uint64_t seed = 0;  // the same seed, prompt and build give the same tokens
};

enum class FinishReason { kEnd, kLength, kStopString, kRepetition, kContext, kSink };
[[nodiscard]] std::string_view to_string(FinishReason reason);

/// Gets each piece of text, whole UTF-8 characters, and the token it ended with. False stops the generation.
using TokenSink = std::function<bool(std::string_view text, TokenId token)>;

struct GenerateParams {
  std::int32_t max_tokens = 256;
  SamplingParams sampling;
  std::vector<std::string> stop_strings;  // never part of the text, even when it arrives in pieces
  bool stop_repetition = false;           // end when the model goes round in circles
  bool end_at_control = false;            // any control token ends the text, as the end's own does
  /// The text begins with these bytes, which are not shown: the end of a prompt that was cut off where it was
  /// no whole token yet. Tokens that do not fit are not taken.
  std::string opening{};
};

struct Generated {
  std::vector<TokenId> tokens;  // all that were put into the sequence, the end token not among them
  FinishReason reason = FinishReason::kEnd;
};

/// The live KV of one context: rotated keys in the attention's own layout. Movable. Made by an engine, which
/// must outlive it. Cell i holds token i of the prompt.
class Sequence {
 public:
  Sequence(Sequence&&) noexcept;
  Sequence& operator=(Sequence&&) noexcept;
  ~Sequence();

  [[nodiscard]] std::int32_t size() const;                // tokens
  [[nodiscard]] std::span<const TokenId> tokens() const;  // by cell
  [[nodiscard]] std::span<const std::int32_t> positions() const;
  [[nodiscard]] std::uint64_t bytes() const;  // memory held
  /// Forgets all cells from `size` on. The next prefill computes logits anew.
  void truncate(std::int32_t size);
  /// A copy of the first `size` tokens, without logits: two prompts can go on from what they share.
  [[nodiscard]] Sequence fork(std::int32_t size) const;

 private:
  friend class Engine;
  friend struct SequenceCells;  // tests look at single keys and values
  struct Impl;
  explicit Sequence(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

struct PrefillOptions {
  /// Position of each token; empty: they go on from the last cell's (from 0 in an empty sequence).
  std::span<const std::int32_t> positions;
  /// Cells of the sequence, ascending, whose tokens go through the layers once more on the way, so that they
  /// see what stands before them now (repair of placed blocks). A call that fails afterwards leaves the
  /// sequence cut before the first of them.
  std::span<const std::int32_t> repair;
  /// When set, receives the block (keys before RoPE, values) of just these tokens. Not together with repair.
  KvBlock* capture = nullptr;
  /// Tokens done so far, called on the engine thread between blocks and at the end. It may use the engine for
  /// another sequence.
  std::function<void(std::int32_t done)> progress;
  std::stop_token stop;
};

/// Of two values, over all heads: their difference's L2 norm, or 1 - the cosine between them.
enum class ValueDistance { kL2, kCosine };

class Engine {
 public:
  /// `progress` gets 0..1. kNotFound, kCorrupt, kModel (an architecture, tensor type or tokenizer that is not
  /// supported: the message names it), kCancelled.
  [[nodiscard]] static Result<std::unique_ptr<Engine>> load(const EngineOptions& options,
                                                            std::function<void(double)> progress = {},
                                                            std::stop_token stop = {});
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  [[nodiscard]] const ModelSpec& spec() const;
  [[nodiscard]] const Tokenizer& tokenizer() const;
  [[nodiscard]] const EngineInfo& info() const;

  /// An empty sequence; memory grows with use.
  [[nodiscard]] Result<Sequence> new_sequence();

  /// Reads `tokens` behind what the sequence holds, in blocks; afterwards `logits` is about the last of them.
  /// kInvalidArgument if tokens is empty, an id is out of range, or the context would be outgrown.
  [[nodiscard]] Result<void> prefill(Sequence& sequence, std::span<const TokenId> tokens,
                                     const PrefillOptions& options = {});

  /// How much attention `tokens` would pay to each cell, were they read now: the mean probability over them,
  /// all heads and the layers [probe.first_layer, probe.end_layer); (sequence.size()), summing to at most 1.
  /// The sequence is left as it was. Errors as of prefill.
  struct Probe {
    std::int32_t first_layer = 0;
    std::int32_t end_layer = 0;  // 0: all
    std::stop_token stop{};
  };
  [[nodiscard]] Result<std::vector<float>> attention_of(Sequence& sequence, std::span<const TokenId> tokens,
                                                        const Probe& probe);

  /// How far the values that these cells (ascending) hold in layer `layer` are from what they would be, were
  /// their tokens read where they stand: (cells.size()), the deviation that CacheBlend (Yao et al., 2025)
  /// chooses by. Up to that layer the cells hold afterwards what was computed, and the logits are gone. A
  /// call that fails once it has begun leaves the sequence cut before the first cell. Errors as of prefill.
  [[nodiscard]] Result<std::vector<float>> deviation_of(Sequence& sequence,
                                                        std::span<const std::int32_t> cells,
                                                        std::int32_t layer, ValueDistance distance,
                                                        std::stop_token stop = {});

  /// Logits behind the sequence's last token, float32 (vocabulary). Empty before the first prefill and after
  /// truncate. Borrowed until the sequence's next change.
  [[nodiscard]] std::span<const float> logits(const Sequence& sequence) const;

  /// What may stand behind one of several sequences.
  struct Candidate {
    Sequence* sequence = nullptr;
    std::span<const TokenId> tokens;
  };
  /// For each candidate ln P(tokens[i] | all before it), from i = `first` on, which is at least 1. They are
  /// read together: several short ones take less time than one after the other. The sequences are left as
  /// they were; none may be given twice. Errors as of prefill.
  [[nodiscard]] Result<std::vector<std::vector<float>>> score(std::span<const Candidate> candidates,
                                                              std::size_t first, std::stop_token stop = {});

  /// As prefill, and gives the logits of every token, (tokens.size(), vocabulary), for measuring.
  [[nodiscard]] Result<std::vector<float>> all_logits(Sequence& sequence, std::span<const TokenId> tokens,
                                                      std::stop_token stop = {});

  /// Samples from `logits` on, token by token, until a rule stops it. `sink` may be empty.
  [[nodiscard]] Result<Generated> generate(Sequence& sequence, const GenerateParams& params,
                                           const TokenSink& sink, std::stop_token stop = {});

  /// Puts a block's tokens behind what the sequence holds, keys rotated once to `first_position` onwards
  /// (design: reuse without recompute). `tokens` are the ids of the block. The shape must be the model's.
  [[nodiscard]] Result<void> place(Sequence& sequence, const KvBlock& block, std::span<const TokenId> tokens,
                                   std::int32_t first_position);

 private:
  struct Impl;
  explicit Engine(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// What compute type `kAuto` would take on this CPU, without loading a model.
[[nodiscard]] EngineInfo probe_cpu(ComputeType wanted, std::int32_t threads);

/// A model file's shape without its weights (for `model info`): reads the header only.
[[nodiscard]] Result<ModelSpec> read_spec(const std::filesystem::path& model);

}  // namespace kvboost::engine
