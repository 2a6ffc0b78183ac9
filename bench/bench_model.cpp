// SPDX-License-Identifier: Apache-2.0
#include "bench/bench_model.h"

#include <algorithm>
#include <chrono>
#include <iostream>
#include <span>
#include <utility>

#include "base/duration.h"
#include "cache/key/chunk_key.h"

namespace kvboost::bench {
namespace {

using Clock = std::chrono::steady_clock;

}  // namespace

Result<BenchModel> BenchModel::load(const EngineBench& bench) {
  engine::EngineOptions options;
  options.model = bench.model;
  options.compute = bench.compute;
  options.threads = bench.threads;
  auto engine = engine::Engine::load(options);
  if (!engine) return fail(engine.error());
  auto chat = daemon::ChatTemplate::detect((*engine)->tokenizer(), (*engine)->info().context);
  const Digest fingerprint = sha256("kvboost-bench");
  const daemon::BlockNames names{fingerprint, cache::key_context(fingerprint, chat.header())};
  daemon::LiveSequences live(**engine, 1, 0);
  return BenchModel(std::make_unique<daemon::LoadedModel>(
      daemon::LoadedModel{bench.model, names, std::move(*engine), std::move(chat), std::move(live)}));
}

const char* BenchModel::live_codec() const {
  return engine().info().compute == engine::ComputeType::kBFloat16 ? "bf16" : "f32";
}

Result<daemon::CapturedRun> BenchModel::compute(const daemon::BlockGroup& group) const {
  daemon::CapturedRun run{.model = fingerprint()};
  std::vector<engine::TokenId> tokens;
  for (const daemon::BlockPart& part : group) {
    run.cuts.push_back(
        {part.key, static_cast<std::int32_t>(tokens.size()), static_cast<std::int32_t>(part.tokens.size())});
    tokens.insert(tokens.end(), part.tokens.begin(), part.tokens.end());
  }
  auto sequence = engine().new_sequence();
  if (!sequence) return fail(sequence.error());
  engine::PrefillOptions options;
  const auto block = std::make_shared<engine::KvBlock>();
  options.capture = block.get();
  run.block = block;
  if (auto read = engine().prefill(*sequence, tokens, options); !read) return fail(read.error());
  return run;
}

Result<std::optional<daemon::RepairPolicy>> BenchModel::tried_policy(daemon::Behind behind,
                                                                     double tolerance) const {
  daemon::ReuseTrial trial(behind);
  while (!trial.done()) {
    std::cerr << "trying the model, " << static_cast<int>(100 * trial.progress()) << " %\r";
    if (const auto step = trial.step(loaded(), {}); !step) return fail(step.error());
  }
  const auto cheapest = daemon::cheapest_within(trial.results(), tolerance);
  std::cerr << "auto is " << daemon::repair_policy_name(cheapest) << "          \n";
  return cheapest;
}

Result<Reading> BenchModel::read(const daemon::PromptPlan& plan, const daemon::Reuse* reuse,
                                 daemon::LiveSequences& live, std::int32_t greedy) const {
  Reading reading;
  const auto start = Clock::now();
  const std::vector<engine::TokenId> tokens = plan.tokens();
  auto taken = live.take(tokens);
  if (!taken) return fail(taken.error());
  engine::Sequence& sequence = taken->sequence;
  const std::int32_t begin = sequence.size();
  auto read = daemon::read_plan(engine(), sequence, {.plan = &plan, .reuse = reuse});
  if (!read) return fail(read.error());
  const std::span<const float> logits = engine().logits(sequence);
  reading.first = static_cast<engine::TokenId>(std::ranges::max_element(logits) - logits.begin());
  reading.ttft_ms = ms_since(start);

  reading.log_probabilities = engine::log_softmax(logits);
  reading.tokens = static_cast<std::int32_t>(tokens.size());
  for (std::size_t i = 0; i < plan.parts.size(); ++i) {
    const daemon::PartRead& part = read->parts[i];
    reading.reused += part.live + part.loaded;
    if (plan.parts[i].kind != daemon::PartKind::kLiteral) reading.repaired += part.computed + part.repaired;
  }
  if (taken->exact_tokens == begin) taken->exact_tokens = read->exact_tokens;
  taken->prompt_tokens = reading.tokens;
  reading.read = std::move(*read);
  if (greedy > 0) {
    engine::GenerateParams params;
    params.max_tokens = greedy;
    auto generated = engine().generate(sequence, params, {});
    if (!generated) return fail(generated.error());
    reading.greedy = std::move(generated->tokens);
    if (taken->exact_tokens == reading.tokens) taken->exact_tokens = sequence.size();
  }
  live.give_back(std::move(*taken));
  return reading;
}

}  // namespace kvboost::bench
