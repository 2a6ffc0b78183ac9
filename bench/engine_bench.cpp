// SPDX-License-Identifier: Apache-2.0
#include "bench/engine_bench.h"

#include <algorithm>
#include <chrono>
#include <fstream>
#include <iostream>
#include <span>

#include "base/bytes.h"
#include "base/duration.h"
#include "bench/peer.h"
#include "bench/sample_text.h"

namespace kvboost::bench {
namespace {

using engine::Engine;
using engine::Sequence;
using engine::TokenId;
using Clock = std::chrono::steady_clock;

void report_run(const Measurement& m, int run, int runs, double tokens_per_s) {
  std::cerr << m.engine << ": " << m.test << ' ' << m.tokens << " at depth " << m.depth << ", run " << run + 1
            << " of " << runs << ": " << static_cast<std::int64_t>(tokens_per_s) << " tokens/s\n";
}

Result<std::unique_ptr<Engine>> load(const EngineBench& bench, std::int32_t context) {
  std::cerr << "loading " << bench.model.string() << '\n';
  return Engine::load(
      {.model = bench.model, .compute = bench.compute, .threads = bench.threads, .context = context});
}

std::string dtype_of(const Engine& engine) {
  return engine.info().compute == engine::ComputeType::kBFloat16 ? "bf16" : "f32";
}

std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

Result<double> time_prefill(Engine& engine, std::span<const TokenId> tokens) {
  auto sequence = engine.new_sequence();
  if (!sequence) return fail(sequence.error());
  const auto start = Clock::now();
  if (auto done = engine.prefill(*sequence, tokens); !done) return fail(done.error());
  return static_cast<double>(tokens.size()) / seconds_since(start);
}

/// `sequence` holds the depth's tokens, and holds them again afterwards.
Result<double> time_decode(Engine& engine, Sequence& sequence, std::span<const TokenId> context,
                           std::int32_t count) {
  // Logits are forgotten on truncate: the last token of the context is read anew, outside the measured time.
  sequence.truncate(static_cast<std::int32_t>(context.size()) - 1);
  if (auto done = engine.prefill(sequence, context.last(1)); !done) return fail(done.error());
  const auto start = Clock::now();
  const auto generated =
      engine.generate(sequence, {.max_tokens = count, .sampling = {}, .stop_strings = {}}, {});
  const double seconds = seconds_since(start);
  if (!generated) return fail(generated.error());
  if (generated->tokens.empty()) {
    return fail(ErrorCode::kModel, "the model ends right behind the text: nothing to time",
                "take another text with --text");
  }
  return static_cast<double>(generated->tokens.size()) / seconds;
}

Result<Measurement> finish(Measurement m, int runs, const std::function<Result<double>()>& time) {
  std::vector<double> figures;
  for (int run = 0; run < runs; ++run) {
    const auto figure = time();
    if (!figure) return fail(figure.error());
    report_run(m, run, runs, *figure);
    figures.push_back(*figure);
  }
  m.tokens_per_s = median(std::move(figures));
  return m;
}

Result<void> measure_prefill(const EngineBench& bench, Engine& engine, std::span<const TokenId> tokens,
                             const MeasurementSink& sink) {
  for (const std::int32_t count : bench.prefill) {
    const Measurement blank{
        .engine = "kvboost", .test = "prefill", .tokens = count, .dtype = dtype_of(engine)};
    auto m = finish(blank, bench.runs, [&] { return time_prefill(engine, tokens.first(count)); });
    if (!m) return fail(m.error());
    sink(*m);
  }
  return {};
}

Result<void> measure_decode(const EngineBench& bench, Engine& engine, std::span<const TokenId> tokens,
                            const MeasurementSink& sink) {
  for (const std::int32_t depth : bench.depths) {
    // An empty context cannot be gone on from: depth 0 has one token.
    const auto context = tokens.first(std::max(depth, 1));
    auto sequence = engine.new_sequence();
    if (!sequence) return fail(sequence.error());
    if (auto done = engine.prefill(*sequence, context); !done) return fail(done.error());
    const Measurement blank{.engine = "kvboost",
                            .test = "decode",
                            .tokens = bench.decode_tokens,
                            .depth = depth,
                            .dtype = dtype_of(engine)};
    auto m = finish(blank, bench.runs,
                    [&] { return time_decode(engine, *sequence, context, bench.decode_tokens); });
    if (!m) return fail(m.error());
    sink(*m);
  }
  return {};
}

/// A line of /proc/self/status in bytes ("VmHWM" is the peak of the resident memory).
std::uint64_t process_memory(std::string_view name) {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    std::uint64_t kilobytes = 0;
    if (word == std::string(name) + ":" && status >> kilobytes) return kilobytes * 1024;
  }
  return 0;
}

}  // namespace

Result<std::vector<TokenId>> sample_tokens(const EngineBench& bench, const Engine& engine,
                                           std::int32_t count) {
  const auto text = sample_text(bench.text);
  if (!text) return fail(text.error());
  // Source code has two to four bytes a token; eight are always enough, and tokenising all would take longer.
  auto tokens =
      engine.tokenizer().encode(std::string_view(*text).substr(0, 8U * static_cast<std::size_t>(count)));
  if (std::cmp_less(tokens.size(), count)) {
    return fail(ErrorCode::kInvalidArgument,
                bench.text.string() + " has only " + std::to_string(tokens.size()) + " tokens, " +
                    std::to_string(count) + " are needed",
                "name a longer text with --text, or ask for fewer tokens");
  }
  tokens.resize(static_cast<std::size_t>(count));
  return tokens;
}

Result<void> run_engine_bench(const EngineBench& bench, const MeasurementSink& sink) {
  std::int32_t longest = 1;
  for (const std::int32_t length : bench.prefill) longest = std::max(longest, length);
  for (const std::int32_t depth : bench.depths) longest = std::max(longest, depth);
  std::vector<TokenId> tokens;
  std::int32_t threads = 0;
  std::string file_type;
  {
    auto engine = load(bench, longest + bench.decode_tokens + 1);
    if (!engine) return fail(engine.error());
    auto sample = sample_tokens(bench, **engine, longest);
    if (!sample) return fail(sample.error());
    tokens = std::move(*sample);
    threads = (*engine)->info().threads;
    file_type = lower((*engine)->spec().file_type);
    if (auto done = measure_prefill(bench, **engine, tokens, sink); !done) return done;
    if (auto done = measure_decode(bench, **engine, tokens, sink); !done) return done;
  }
  if (bench.peer.empty()) return {};
  return run_peer(bench, tokens, threads, file_type, sink);
}

Result<std::string> run_memory_bench(const EngineBench& bench) {
  auto engine = load(bench, 0);
  if (!engine) return fail(engine.error());
  const std::int32_t context = (*engine)->info().context;
  const auto tokens = sample_tokens(bench, **engine, context);
  if (!tokens) return fail(tokens.error());
  auto sequence = (*engine)->new_sequence();
  if (!sequence) return fail(sequence.error());
  if (auto done = (*engine)->prefill(*sequence, *tokens); !done) return fail(done.error());
  const std::uint64_t peak = process_memory("VmHWM");
  const std::uint64_t weights = (*engine)->info().weight_bytes;
  const std::uint64_t live = sequence->bytes();
  const std::uint64_t known = weights + live;
  return "peak memory " + human_size(peak) + " at " + std::to_string(context) + " tokens (" +
         dtype_of(**engine) + "): weights " + human_size(weights) + ", live KV " + human_size(live) +
         ", all else " + human_size(peak > known ? peak - known : 0) + "\n";
}

}  // namespace kvboost::bench
