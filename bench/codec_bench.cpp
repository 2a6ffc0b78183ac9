// SPDX-License-Identifier: Apache-2.0
#include "bench/codec_bench.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <iomanip>
#include <iostream>
#include <nlohmann/json.hpp>

#include "engine/log_probabilities.h"

namespace kvboost::bench {
namespace {

using cache::BlockShape;
using cache::Codec;
using engine::Engine;
using engine::KvBlock;
using engine::TokenId;

/// A stretch of text, read: its blocks, and the logits of what follows behind them.
struct Sample {
  std::vector<TokenId> tokens;  // the chunks', then the answer's
  std::vector<KvBlock> blocks;
  std::vector<float> logits;  // (answer, vocabulary), behind the blocks as they were computed
};

BlockShape shape_of(const KvBlock& block) {
  return {block.shape.n_layers, block.shape.n_kv_heads, block.shape.head_dim, block.n_tokens};
}

double widen(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

/// Logits of the answer's tokens behind these blocks, placed.
Result<std::vector<float>> answer_logits(Engine& engine, const CodecBench& bench, const Sample& sample,
                                         std::span<const KvBlock> blocks) {
  auto sequence = engine.new_sequence();
  if (!sequence) return fail(sequence.error());
  const std::span<const TokenId> tokens = sample.tokens;
  for (const KvBlock& block : blocks) {
    const auto first = static_cast<std::size_t>(sequence->size());
    const auto ids = tokens.subspan(first, static_cast<std::size_t>(block.n_tokens));
    if (auto placed = engine.place(*sequence, block, ids, sequence->size()); !placed) {
      return fail(placed.error());
    }
  }
  return engine.all_logits(*sequence, tokens.last(static_cast<std::size_t>(bench.answer)));
}

Result<Sample> read_sample(Engine& engine, const CodecBench& bench, std::span<const TokenId> tokens) {
  Sample sample{{tokens.begin(), tokens.end()}, {}, {}};
  auto sequence = engine.new_sequence();
  if (!sequence) return fail(sequence.error());
  for (std::int32_t i = 0; i < bench.chunks; ++i) {
    const auto chunk = tokens.subspan(static_cast<std::size_t>(i * bench.chunk_tokens),
                                      static_cast<std::size_t>(bench.chunk_tokens));
    engine::PrefillOptions options;
    options.capture = &sample.blocks.emplace_back();
    if (auto done = engine.prefill(*sequence, chunk, options); !done) return fail(done.error());
  }
  auto logits = answer_logits(engine, bench, sample, sample.blocks);
  if (!logits) return fail(logits.error());
  sample.logits = std::move(*logits);
  return sample;
}

/// Squares of what was computed and of what the codec changed.
struct Squares {
  double computed = 0;
  double changed = 0;

  void add(std::span<const std::uint16_t> before, std::span<const std::uint16_t> after) {
    for (std::size_t i = 0; i < before.size(); ++i) {
      const double value = widen(before[i]);
      const double difference = widen(after[i]) - value;
      computed += value * value;
      changed += difference * difference;
    }
  }
  [[nodiscard]] double error() const { return std::sqrt(changed / computed); }
};

struct Divergence {
  double sum = 0, worst = 0;
  std::int64_t positions = 0, same = 0;

  /// KL(P‖Q) of each position; both (positions, vocabulary).
  void add(std::span<const float> p_logits, std::span<const float> q_logits, std::size_t vocabulary) {
    for (std::size_t first = 0; first < p_logits.size(); first += vocabulary) {
      const auto p = engine::log_softmax(p_logits.subspan(first, vocabulary));
      const auto q = engine::log_softmax(q_logits.subspan(first, vocabulary));
      const double kl = engine::divergence(p, q);
      sum += kl;
      worst = std::max(worst, kl);
      same += engine::likeliest(p) == engine::likeliest(q) ? 1 : 0;
      ++positions;
    }
  }
};

Result<CodecError> measure(Engine& engine, const CodecBench& bench, const CodecChoice& choice,
                           std::span<const Sample> samples) {
  Squares keys;
  Squares values;
  Divergence divergence;
  CodecError error{.codec = choice.name};
  for (const Sample& sample : samples) {
    std::vector<KvBlock> decoded;
    for (const KvBlock& block : sample.blocks) {
      const auto payload = cache::encode_block(shape_of(block), block.data, choice.per_layer);
      if (!payload) return fail(payload.error());
      error.bytes_per_token = static_cast<double>(payload->size()) / block.n_tokens;
      KvBlock& copy = decoded.emplace_back(block);
      if (auto done = cache::decode_block(shape_of(block), *payload, copy.data); !done)
        return fail(done.error());
      for (int layer = 0; layer < block.shape.n_layers; ++layer) {
        keys.add({block.keys(layer), block.plane()}, {copy.keys(layer), copy.plane()});
        values.add({block.values(layer), block.plane()}, {copy.values(layer), copy.plane()});
      }
    }
    const auto logits = answer_logits(engine, bench, sample, decoded);
    if (!logits) return fail(logits.error());
    divergence.add(sample.logits, *logits, sample.logits.size() / static_cast<std::size_t>(bench.answer));
  }
  const auto positions = static_cast<double>(divergence.positions);
  error.key_error = keys.error();
  error.value_error = values.error();
  error.mean_kl = divergence.sum / positions;
  error.worst_kl = divergence.worst;
  error.same_token = static_cast<double>(divergence.same) / positions;
  return error;
}

}  // namespace

std::vector<CodecChoice> codec_choices(std::int32_t n_layers) {
  const auto all = static_cast<std::size_t>(n_layers);
  std::vector<CodecChoice> choices;
  for (const Codec codec : {Codec::kBf16, Codec::kInt8, Codec::kInt4}) {
    choices.push_back({std::string(cache::to_string(codec)), std::vector<Codec>(all, codec)});
  }
  CodecChoice edges{"int4, edges int8", std::vector<Codec>(all, Codec::kInt4)};
  const auto edge = static_cast<std::ptrdiff_t>((all + 7) / 8);
  std::fill_n(edges.per_layer.begin(), edge, Codec::kInt8);
  std::fill_n(edges.per_layer.rbegin(), edge, Codec::kInt8);
  choices.push_back(std::move(edges));
  return choices;
}

Result<std::vector<CodecError>> run_codec_bench(const CodecBench& bench) {
  const std::int32_t length = bench.chunks * bench.chunk_tokens + bench.answer;
  auto engine = Engine::load({.model = bench.engine.model,
                              .compute = bench.engine.compute,
                              .threads = bench.engine.threads,
                              .context = length});
  if (!engine) return fail(engine.error());
  const auto tokens = sample_tokens(bench.engine, **engine, length * bench.samples);
  if (!tokens) return fail(tokens.error());
  std::vector<Sample> samples;
  for (std::int32_t i = 0; i < bench.samples; ++i) {
    std::cerr << "reading sample " << i + 1 << " of " << bench.samples << '\n';
    auto sample = read_sample(
        **engine, bench,
        std::span(*tokens).subspan(static_cast<std::size_t>(i * length), static_cast<std::size_t>(length)));
    if (!sample) return fail(sample.error());
    samples.push_back(std::move(*sample));
  }
  std::vector<CodecError> errors;
  for (const CodecChoice& choice : codec_choices((*engine)->spec().n_layers)) {
    std::cerr << "measuring " << choice.name << '\n';
    auto error = measure(**engine, bench, choice, samples);
    if (!error) return fail(error.error());
    errors.push_back(std::move(*error));
  }
  return errors;
}

void print_codec_json(std::ostream& out, std::span<const CodecError> errors) {
  for (const CodecError& error : errors) {
    const nlohmann::ordered_json json = {
        {"codec", error.codec},          {"bytes_per_token", error.bytes_per_token},
        {"key_error", error.key_error},  {"value_error", error.value_error},
        {"mean_kl", error.mean_kl},      {"worst_kl", error.worst_kl},
        {"same_token", error.same_token}};
    out << json.dump() << '\n';
  }
}

void print_codec_table(std::ostream& out, std::span<const CodecError> errors) {
  out << "codec              KB/token   error of K   error of V    mean KL   worst KL   same token\n"
      << std::fixed;
  for (const CodecError& error : errors) {
    out << std::left << std::setw(17) << error.codec << std::right << std::setprecision(1) << std::setw(10)
        << error.bytes_per_token / 1e3 << std::setprecision(4) << std::setw(13) << error.key_error
        << std::setw(13) << error.value_error << std::setprecision(5) << std::setw(11) << error.mean_kl
        << std::setw(11) << error.worst_kl << std::setprecision(1) << std::setw(12) << 100 * error.same_token
        << "%\n";
  }
}

}  // namespace kvboost::bench
