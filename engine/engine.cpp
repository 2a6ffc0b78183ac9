// SPDX-License-Identifier: Apache-2.0
// Engine: checks what it is asked, cuts it into blocks, and keeps the sequence whole when something fails.
#include "engine/engine.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <new>
#include <utility>

#include "engine/cpu.h"
#include "engine/model/engine_state.h"
#include "engine/model/matmul.h"
#include "engine/model/spec_reader.h"

namespace kvboost::engine {
namespace {

/// What the kernels were written for; everything that real models have.
Result<void> check_shape(const ModelSpec& spec) {
  constexpr std::int32_t kVector = 16;
  constexpr std::int32_t kMostHeadDim = 512;
  const bool odd =
      spec.width % kVector != 0 || spec.feed_forward % kVector != 0 || spec.head_dim % kVector != 0;
  const bool fits = spec.n_heads % spec.n_kv_heads == 0 && spec.head_dim <= kMostHeadDim &&
                    spec.n_heads / spec.n_kv_heads <= kMostUnitRows;
  if (!odd && fits) return {};
  return fail(ErrorCode::kModel,
              "the model's shape is not supported: width " + std::to_string(spec.width) + ", feed-forward " +
                  std::to_string(spec.feed_forward) + ", " + std::to_string(spec.n_heads) + " heads of " +
                  std::to_string(spec.head_dim) + ", " + std::to_string(spec.n_kv_heads) + " KV heads",
              "choose a model whose widths are multiples of 16 and whose heads share KV heads evenly");
}

}  // namespace

Sequence::Sequence(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Sequence::Sequence(Sequence&&) noexcept = default;
Sequence& Sequence::operator=(Sequence&&) noexcept = default;
Sequence::~Sequence() = default;

std::int32_t Sequence::size() const {
  return impl_->kv.size();
}
std::span<const TokenId> Sequence::tokens() const {
  return impl_->kv.tokens();
}
std::span<const std::int32_t> Sequence::positions() const {
  return impl_->kv.positions();
}
std::uint64_t Sequence::bytes() const {
  return impl_->kv.bytes() + impl_->logits.capacity() * sizeof(float);
}
void Sequence::truncate(std::int32_t size) {
  if (size >= this->size()) return;
  impl_->kv.truncate(std::max(size, 0));
  impl_->logits.clear();
}
Sequence Sequence::fork(std::int32_t size) const {
  return Sequence(std::make_unique<Impl>(Impl{impl_->kv.fork(size), {}}));
}

Engine::Engine(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Engine::~Engine() = default;
const ModelSpec& Engine::spec() const {
  return impl_->spec;
}
const Tokenizer& Engine::tokenizer() const {
  return impl_->tokenizer;
}
const EngineInfo& Engine::info() const {
  return impl_->info;
}

Result<std::unique_ptr<Engine>> Engine::load(const EngineOptions& options,
                                             std::function<void(double)> progress, std::stop_token stop) {
  return guarded([&]() -> Result<std::unique_ptr<Engine>> {
    const auto begin = std::chrono::steady_clock::now();
    auto gguf = Gguf::open(options.model);
    if (!gguf) return fail(gguf.error());
    auto spec = engine::read_spec(*gguf, options.model);
    if (!spec) return fail(spec.error());
    if (auto shape = check_shape(*spec); !shape) return fail(shape.error());
    auto tokenizer = Tokenizer::from_gguf(*gguf, options.force_tokenizer);
    if (!tokenizer) return fail(tokenizer.error());
    EngineInfo info = probe_cpu(options.compute, options.threads);
    if (options.compute == ComputeType::kBFloat16 && !has_bfloat16()) {
      return fail(ErrorCode::kInvalidArgument,
                  "compute type bf16 needs a CPU with AVX512-BF16, which this one lacks",
                  "set compute to auto or f32");
    }
    info.context = options.context > 0 ? std::min(options.context, spec->context) : spec->context;
    set_threads(info.threads);
    auto impl = std::make_unique<Impl>(Impl{std::move(*spec), std::move(*tokenizer), info, {}});
    auto transformer = load_transformer(*gguf, impl->spec, info.compute, progress, stop);
    if (!transformer) return fail(transformer.error());
    impl->transformer = std::move(*transformer);
    impl->info.weight_bytes = impl->transformer->weight_bytes();
    impl->info.load_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    return std::unique_ptr<Engine>(new Engine(std::move(impl)));
  });
}

Result<Sequence> Engine::new_sequence() {
  return guarded([&]() -> Result<Sequence> {
    return Sequence(std::make_unique<Sequence::Impl>(Sequence::Impl{impl_->transformer->new_kv(), {}}));
  });
}

std::span<const float> Engine::logits(const Sequence& sequence) const {
  return sequence.impl_->logits;
}

Result<void> Engine::Impl::check_call(const Sequence& sequence, std::span<const TokenId> tokens) const {
  if (tokens.empty()) return fail(ErrorCode::kInvalidArgument, "there are no tokens to read");
  for (const TokenId token : tokens) {
    if (token < 0 || token >= spec.vocabulary) {
      return fail(ErrorCode::kInvalidArgument, "token " + std::to_string(token) +
                                                   " is not in the vocabulary of " +
                                                   std::to_string(spec.vocabulary));
    }
  }
  const auto total = static_cast<std::int64_t>(sequence.size()) + std::ssize(tokens);
  if (total > info.context) {
    return fail(ErrorCode::kInvalidArgument,
                "the prompt has " + std::to_string(total) + " tokens, the context holds " +
                    std::to_string(info.context),
                "shorten the prompt, or set a larger context if the model allows it");
  }
  return {};
}

/// What one run puts through the layers: cells to repair, then the new tokens.
struct Engine::Impl::Work {
  std::vector<TokenId> tokens;
  std::vector<std::int32_t> positions;
  std::vector<std::int32_t> cells;
};

Result<Engine::Impl::Work> Engine::Impl::work_of(const SequenceKv& kv, std::span<const TokenId> tokens,
                                                 const PrefillOptions& options) {
  if (!options.positions.empty() && (options.positions.size() != tokens.size() ||
                                     std::ranges::any_of(options.positions, [](auto p) { return p < 0; }))) {
    return fail(ErrorCode::kInvalidArgument, "each token needs one position, and none below 0");
  }
  Work work;
  for (const std::int32_t cell : options.repair) {
    if (cell < 0 || cell >= kv.size() || (!work.cells.empty() && cell <= work.cells.back())) {
      return fail(ErrorCode::kInvalidArgument, "cells to repair must be in the sequence, and ascending");
    }
    work.tokens.push_back(kv.tokens()[cell]);
    work.positions.push_back(kv.positions()[cell]);
    work.cells.push_back(cell);
  }
  if (options.capture != nullptr && !work.cells.empty())
    return fail(ErrorCode::kInvalidArgument, "what stands behind repaired tokens is no block of its own");
  const std::int32_t next = kv.next_position();
  for (std::int32_t i = 0; i < std::ssize(tokens); ++i) {
    work.tokens.push_back(tokens[i]);
    work.positions.push_back(options.positions.empty() ? next + i : options.positions[i]);
    work.cells.push_back(kv.size() + i);
  }
  return work;
}

bool Engine::Impl::run_blocks(Sequence::Impl& sequence, const Work& work, const PrefillOptions& options,
                              const AfterBlock& after_block) {
  const auto n = static_cast<std::int32_t>(work.tokens.size());
  for (std::int32_t done = 0; done < n;) {
    const auto count = std::min(transformer->most_tokens(), n - done);
    const auto part = [&](const auto& all) { return std::span(all).subspan(done, count); };
    const Transformer::Lane lane{&sequence.kv, part(work.tokens), part(work.positions), part(work.cells)};
    if (!transformer->forward({.lanes = std::span(&lane, 1),
                               .stop = options.stop,
                               .capture = options.capture,
                               .capture_at = done})) {
      return false;
    }
    const auto repaired = std::ranges::lower_bound(lane.cells, sequence.kv.size()) - lane.cells.begin();
    sequence.kv.commit(lane.tokens.subspan(repaired), lane.positions.subspan(repaired));
    after_block(done, count);
    done += count;
    if (options.progress && done < n) options.progress(done);
  }
  return true;
}

Result<void> Engine::Impl::run(Sequence& sequence, std::span<const TokenId> tokens,
                               const PrefillOptions& options, const AfterBlock& after_block) {
  if (auto good = check_call(sequence, tokens); !good) return good;
  Sequence::Impl& live = *sequence.impl_;
  const auto work = work_of(live.kv, tokens, options);
  if (!work) return fail(work.error());
  const std::int32_t untouched = work->cells.front();
  auto result = guarded([&]() -> Result<void> {
    if (options.capture != nullptr) {
      options.capture->shape = spec.kv_shape();
      options.capture->n_tokens = static_cast<std::int32_t>(tokens.size());
      options.capture->data.resize(tokens.size() * spec.kv_shape().bytes_per_token() / sizeof(std::uint16_t));
    }
    if (!run_blocks(live, *work, options, after_block)) return fail(ErrorCode::kCancelled, "cancelled");
    std::vector<float> last(spec.vocabulary);
    transformer->logits(static_cast<std::int32_t>((work->tokens.size() - 1) % transformer->most_tokens()), 1,
                        last.data());
    if (!all_finite(last)) return fail(not_a_number());
    live.logits = std::move(last);
    // Not before the logits are taken: whoever is told may use the engine meanwhile.
    if (options.progress) options.progress(static_cast<std::int32_t>(work->tokens.size()));
    return {};
  });
  if (!result) {
    live.kv.truncate(untouched);
    if (!options.repair.empty()) live.logits.clear();
  }
  return result;
}

Result<void> Engine::prefill(Sequence& sequence, std::span<const TokenId> tokens,
                             const PrefillOptions& options) {
  return impl_->run(sequence, tokens, options, [](std::int32_t, std::int32_t) {});
}

Result<std::vector<float>> Engine::attention_of(Sequence& sequence, std::span<const TokenId> tokens,
                                                const Probe& probe) {
  if (auto good = impl_->check_call(sequence, tokens); !good) return fail(good.error());
  Sequence::Impl& live = *sequence.impl_;
  const std::int32_t before = live.kv.size();
  const std::int32_t end = probe.end_layer > 0 ? probe.end_layer : impl_->spec.n_layers;
  if (probe.first_layer < 0 || probe.first_layer >= end || end > impl_->spec.n_layers ||
      std::ssize(tokens) > impl_->transformer->most_tokens()) {
    return fail(ErrorCode::kInvalidArgument, "there are no such layers, or more tokens than a block takes");
  }
  AttentionShare share{probe.first_layer, std::vector<float>(before)};
  const auto work = Impl::work_of(live.kv, tokens, {});
  if (!work) return fail(work.error());
  const Transformer::Lane lane{&live.kv, work->tokens, work->positions, work->cells};
  auto result = guarded([&]() -> Result<void> {
    const bool done = impl_->transformer->forward(
        {.lanes = std::span(&lane, 1), .stop = probe.stop, .end_layer = end, .share = &share});
    return done ? Result<void>() : fail(ErrorCode::kCancelled, "cancelled");
  });
  live.kv.truncate(before);
  if (!result) return fail(result.error());
  const auto n = static_cast<float>(tokens.size()) * static_cast<float>(impl_->spec.n_heads) *
                 static_cast<float>(end - probe.first_layer);
  for (float& cell : share.of_cell) cell /= n;
  return std::move(share.of_cell);
}

Result<std::vector<float>> Engine::deviation_of(Sequence& sequence, std::span<const std::int32_t> cells,
                                                std::int32_t layer, ValueDistance distance,
                                                std::stop_token stop) {
  if (layer < 0 || layer >= impl_->spec.n_layers || cells.empty())
    return fail(ErrorCode::kInvalidArgument, "there is no such layer, or no cell to look at");
  Sequence::Impl& live = *sequence.impl_;
  PrefillOptions options;
  options.repair = cells;
  const auto work = Impl::work_of(live.kv, {}, options);
  if (!work) return fail(work.error());
  std::vector<float> all;
  auto result = guarded([&]() -> Result<void> {
    const auto most = static_cast<std::size_t>(impl_->transformer->most_tokens());
    for (std::size_t done = 0; done < cells.size(); done = all.size()) {
      const auto part = [&](const auto& whole) {
        return std::span(whole).subspan(done, std::min(most, cells.size() - done));
      };
      ValueDeviation deviation{layer, distance, {}};
      const Transformer::Lane lane{&live.kv, part(work->tokens), part(work->positions), part(work->cells)};
      if (!impl_->transformer->forward(
              {.lanes = std::span(&lane, 1), .stop = stop, .deviation = &deviation})) {
        return fail(ErrorCode::kCancelled, "cancelled");
      }
      all.insert(all.end(), deviation.of_token.begin(), deviation.of_token.end());
    }
    return {};
  });
  live.logits.clear();
  if (result) return all;
  live.kv.truncate(cells.front());
  return fail(result.error());
}

Result<std::vector<float>> Engine::all_logits(Sequence& sequence, std::span<const TokenId> tokens,
                                              std::stop_token stop) {
  return guarded([&]() -> Result<std::vector<float>> {
    const auto width = static_cast<std::size_t>(impl_->spec.vocabulary);
    std::vector<float> all(tokens.size() * width);
    PrefillOptions options;
    options.stop = stop;
    auto done = impl_->run(sequence, tokens, options, [&](std::int32_t first, std::int32_t count) {
      impl_->transformer->logits(0, count, all.data() + first * width);
    });
    if (!done) return fail(done.error());
    return all;
  });
}

Result<void> Engine::place(Sequence& sequence, const KvBlock& block, std::span<const TokenId> tokens,
                           std::int32_t first_position) {
  if (auto good = impl_->check_call(sequence, tokens); !good) return good;
  if (block.shape != impl_->spec.kv_shape() || block.n_tokens != std::ssize(tokens) ||
      block.data.size() * sizeof(std::uint16_t) != tokens.size() * block.shape.bytes_per_token()) {
    return fail(ErrorCode::kInvalidArgument,
                "the block's shape is not the model's, or its length not that of its tokens");
  }
  if (first_position < 0) return fail(ErrorCode::kInvalidArgument, "a position must not be below 0");
  Sequence::Impl& live = *sequence.impl_;
  const std::int32_t before = live.kv.size();
  auto result = guarded([&]() -> Result<void> {
    std::vector<std::int32_t> positions(tokens.size());
    for (std::size_t i = 0; i < tokens.size(); ++i)
      positions[i] = first_position + static_cast<std::int32_t>(i);
    impl_->transformer->place(live.kv, block, positions);
    live.kv.commit(tokens, positions);
    live.logits.clear();
    return {};
  });
  if (!result) live.kv.truncate(before);
  return result;
}

}  // namespace kvboost::engine
