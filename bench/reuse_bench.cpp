// SPDX-License-Identifier: Apache-2.0
#include "bench/reuse_bench.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>
#include <numeric>
#include <span>

#include "bench/measurement.h"
#include "bench/reuse_prompts.h"
#include "daemon/pipeline/group_run.h"
#include "daemon/pipeline/plan_reader.h"

namespace kvboost::bench {
namespace {

using Clock = std::chrono::steady_clock;
using daemon::PromptPlan;

double ms_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

/// One prompt, read in one way.
struct Reading {
  double ttft_ms = 0;
  double tokens_computed = 0;
  daemon::PlanRead read;
  std::vector<double> log_probabilities;
};

std::vector<double> log_softmax(std::span<const float> logits) {
  const double largest = std::ranges::max(logits);
  double sum = 0;
  for (const float logit : logits) sum += std::exp(logit - largest);
  std::vector<double> result;
  for (const float logit : logits) result.push_back(logit - largest - std::log(sum));
  return result;
}

double divergence(const std::vector<double>& from, const std::vector<double>& to) {
  double kl = 0;
  for (std::size_t i = 0; i < from.size(); ++i) kl += std::exp(from[i]) * (from[i] - to[i]);
  return kl;
}

std::size_t likeliest(const std::vector<double>& of) {
  return static_cast<std::size_t>(std::ranges::max_element(of) - of.begin());
}

bool is_doubtful(std::vector<double> of) {
  std::ranges::nth_element(of, of.begin() + 1, std::greater());
  return std::exp(of[0]) - std::exp(of[1]) < 0.05;
}

/// Percentile p of 0..1, by the nearest rank.
double percentile(std::vector<double> values, double p) {
  std::ranges::sort(values);
  const auto rank = static_cast<std::size_t>(std::ceil(p * static_cast<double>(values.size())));
  return values[std::max<std::size_t>(rank, 1) - 1];
}

class Run {
 public:
  Run(daemon::LoadedModel& model, daemon::BlockCache& blocks) : model_(model), blocks_(blocks) {
    for (const char* letter : {" A", " B", " C", " D"}) {
      letters_.push_back(static_cast<std::size_t>(model.engine->tokenizer().encode(letter).front()));
    }
  }

  Result<void> warm(const PromptFile& file) {
    daemon::GroupRun run(file.group, file.group.size());
    const auto done = run.run(model_, blocks_, {});
    return done ? Result<void>() : fail(done.error());
  }

  Result<Reading> read(const PromptPlan& plan, const daemon::Reuse* reuse) {
    auto sequence = model_.engine->new_sequence();
    if (!sequence) return fail(sequence.error());
    const auto start = Clock::now();
    auto read = daemon::read_plan(*model_.engine, *sequence, {.plan = &plan, .reuse = reuse});
    if (!read) return fail(read.error());
    Reading reading;
    reading.ttft_ms = ms_since(start);
    reading.read = std::move(*read);
    for (const daemon::PartRead& part : reading.read.parts)
      reading.tokens_computed += part.computed + part.repaired;
    reading.log_probabilities = log_softmax(model_.engine->logits(*sequence));
    return reading;
  }

  [[nodiscard]] std::size_t choice(const std::vector<double>& of) const {
    return static_cast<std::size_t>(std::ranges::max_element(letters_, {}, [&](auto id) { return of[id]; }) -
                                    letters_.begin());
  }

 private:
  daemon::LoadedModel& model_;
  daemon::BlockCache& blocks_;
  std::vector<std::size_t> letters_;
};

ReuseFigures summarise(const std::string& policy, const std::vector<Reading>& full,
                       const std::vector<Reading>& readings, const Run& run, double prompt_tokens) {
  ReuseFigures figures{.policy = policy, .prompts = static_cast<std::int32_t>(readings.size())};
  const auto n = static_cast<double>(readings.size());
  figures.tokens = prompt_tokens;
  std::vector<double> ttft, full_ttft, load, select, prefill;
  for (std::size_t i = 0; i < readings.size(); ++i) {
    const Reading& reading = readings[i];
    const std::vector<double>& expected = full[i].log_probabilities;
    const double kl = divergence(expected, reading.log_probabilities);
    ttft.push_back(reading.ttft_ms);
    full_ttft.push_back(full[i].ttft_ms);
    load.push_back(reading.read.load_ms);
    select.push_back(reading.read.select_ms);
    prefill.push_back(reading.read.prefill_ms);
    figures.tokens_computed += reading.tokens_computed / n;
    figures.kl_mean += kl / n;
    figures.kl_worst = std::max(figures.kl_worst, kl);
    figures.top1_agreement += (likeliest(expected) == likeliest(reading.log_probabilities)) / n;
    figures.choice_agreement += (run.choice(expected) == run.choice(reading.log_probabilities)) / n;
    figures.doubtful += is_doubtful(expected) / n;
  }
  figures.ttft_ms_p50 = median(ttft);
  figures.ttft_ms_p95 = percentile(ttft, 0.95);
  figures.load_ms = median(load);
  figures.select_ms = median(select);
  figures.prefill_ms = median(prefill);
  figures.ratio_to_full = median(full_ttft) / figures.ttft_ms_p50;
  return figures;
}

}  // namespace

Result<std::vector<ReuseFigures>> run_reuse_bench(const ReuseBench& bench) {
  engine::EngineOptions options;
  options.model = bench.common.model;
  options.compute = bench.common.compute;
  options.threads = bench.common.threads;
  auto engine = engine::Engine::load(options);
  if (!engine) return fail(engine.error());
  const auto chat = daemon::ChatTemplate::detect((*engine)->tokenizer());
  const Digest fingerprint = sha256("kvboost-bench reuse");
  const daemon::BlockNames names{fingerprint, cache::key_context(fingerprint, chat.header())};
  daemon::LiveSequences none(**engine, 1, 1);
  daemon::LoadedModel model{bench.common.model, names, std::move(*engine), chat, std::move(none)};
  daemon::BlockCache blocks({.max_memory = 8ULL << 30});
  auto repository = daemon::Repository::open(bench.common.text, {});
  if (!repository) return fail(repository.error());
  if (auto fresh = (*repository)->refresh({}); !fresh) return fail(fresh.error());

  std::mt19937 random(bench.seed);
  const auto of_file = static_cast<std::size_t>(bench.tokens / bench.files);
  const auto files =
      prompt_files(**repository, chat, model.engine->tokenizer(), names.context, of_file, 40, random);
  if (files.size() < static_cast<std::size_t>(bench.files)) {
    return fail(ErrorCode::kInvalidArgument,
                "only " + std::to_string(files.size()) + " files are long enough for such prompts",
                "take fewer --tokens, or another repository");
  }
  Run run(model, blocks);
  for (const PromptFile& file : files) {
    if (auto warmed = run.warm(file); !warmed) return fail(warmed.error());
  }
  blocks.flush();

  std::vector<Reading> full;
  std::vector<std::vector<Reading>> by_policy(bench.policies.size());
  double prompt_tokens = 0;
  for (std::int32_t i = 0; i < bench.prompts; ++i) {
    std::vector<const PromptFile*> order;
    for (const PromptFile& file : files) order.push_back(&file);
    std::ranges::shuffle(order, random);
    order.resize(static_cast<std::size_t>(bench.files));
    const PromptPlan plan = question_about(order, chat, model.engine->tokenizer(), random);
    prompt_tokens += static_cast<double>(plan.size()) / bench.prompts;
    auto read = run.read(plan, nullptr);
    if (!read) return fail(read.error());
    full.push_back(std::move(*read));
    for (std::size_t p = 0; p < bench.policies.size(); ++p) {
      const auto policy = daemon::parse_repair_policy(bench.policies[p]);
      if (!policy) return fail(policy.error());
      const daemon::Reuse reuse{&blocks, names.model, names.context, *policy};
      auto reused = run.read(plan, &reuse);
      if (!reused) return fail(reused.error());
      by_policy[p].push_back(std::move(*reused));
    }
    std::cerr << "prompt " << i + 1 << " of " << bench.prompts << ": " << plan.size() << " tokens\n";
  }
  std::vector<ReuseFigures> figures{summarise("full", full, full, run, prompt_tokens)};
  for (std::size_t p = 0; p < bench.policies.size(); ++p) {
    figures.push_back(summarise(bench.policies[p], full, by_policy[p], run, prompt_tokens));
  }
  return figures;
}

void print_reuse_table(std::ostream& out, const std::vector<ReuseFigures>& figures) {
  char line[256];
  std::snprintf(line, sizeof line, "%-28s %8s %8s %8s %8s %6s %7s %7s %8s %8s %7s %7s %7s\n", "policy",
                "computed", "TTFT p50", "p95", "ratio", "load", "select", "prefill", "KL mean", "worst",
                "top-1", "choice", "doubt");
  out << line;
  for (const ReuseFigures& f : figures) {
    std::snprintf(line, sizeof line,
                  "%-28s %8.0f %8.0f %8.0f %8.2f %6.0f %7.0f %7.0f %8.4f %8.4f %6.1f%% %6.1f%% %6.1f%%\n",
                  f.policy.c_str(), f.tokens_computed, f.ttft_ms_p50, f.ttft_ms_p95, f.ratio_to_full,
                  f.load_ms, f.select_ms, f.prefill_ms, f.kl_mean, f.kl_worst, 100 * f.top1_agreement,
                  100 * f.choice_agreement, 100 * f.doubtful);
    out << line;
  }
}

void print_reuse_json(std::ostream& out, const std::vector<ReuseFigures>& figures) {
  for (const ReuseFigures& f : figures) {
    out << nlohmann::json{{"policy", f.policy},
                          {"codec", "bf16"},
                          {"tier", f.policy == "full" ? "full" : "ram"},
                          {"prompts", f.prompts},
                          {"tokens", f.tokens},
                          {"tokens_computed", f.tokens_computed},
                          {"ttft_ms_p50", f.ttft_ms_p50},
                          {"ttft_ms_p95", f.ttft_ms_p95},
                          {"ratio_to_full", f.ratio_to_full},
                          {"kl_mean", f.kl_mean},
                          {"kl_worst", f.kl_worst},
                          {"top1_agreement", f.top1_agreement},
                          {"choice_agreement", f.choice_agreement},
                          {"doubtful", f.doubtful}}
               .dump()
        << '\n';
  }
}

}  // namespace kvboost::bench
