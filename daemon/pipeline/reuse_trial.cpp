// SPDX-License-Identifier: Apache-2.0
#include "daemon/pipeline/reuse_trial.h"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <utility>

#include "base/duration.h"
#include "daemon/pipeline/group_run.h"
#include "daemon/pipeline/plan_reader.h"
#include "daemon/pipeline/reuse_samples.h"
#include "daemon/prompt/chunk_cache.h"
#include "engine/log_probabilities.h"

namespace kvboost::daemon {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kFilesOfPrompt = 6;
constexpr std::int32_t kAnswerTokens = 4;  // compared behind the first one
constexpr std::uint64_t kMemory = 1ULL << 30;

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

std::vector<BlockGroup> groups_of(const LoadedModel& model, const ReuseSample& sample,
                                  std::span<const engine::TokenId> neighbours) {
  const EncodedFile file =
      cut_and_encode(model.engine->tokenizer(), std::string(sample.path), std::string(sample.text), {});
  return group_blocks(file, sample.path, model.chat, model.names->context,
                      static_cast<std::size_t>(model.engine->info().context), neighbours);
}

NeighbourRun sample_neighbours(const LoadedModel& model) {
  std::vector<cache::Neighbour> neighbours;
  for (const ReuseSample& sample : reuse_neighbours())
    neighbours.push_back({std::string(sample.path), std::string(sample.text)});
  return neighbour_run(neighbours, model.engine->tokenizer(), model.chat, model.names->context,
                       model.engine->info().context);
}

}  // namespace

std::string_view to_string(Behind behind) {
  return behind == Behind::kHeader ? "header" : "neighbours";
}

/// A prompt, and what its full read says.
struct ReuseTrial::Prompt {
  PromptPlan plan;
  std::vector<engine::TokenId> answer;  // of the full read, greedy
  std::vector<engine::LogProbabilities>
      probabilities;  // behind the prompt and behind each token of the answer
};

struct ReuseTrial::Reading {
  std::vector<engine::LogProbabilities> probabilities;
  std::vector<engine::TokenId> answer;
  double ms = 0;
  std::int32_t computed = 0;
  std::int32_t loaded = 0;
};

std::vector<RepairPolicy> policies_to_try() {
  // The layers before the middle are where a question finds what it is about (bench/README.md).
  constexpr float kFirst = 0.2F, kEnd = 0.5F;
  return {{},
          {.seam = 8},
          {.seam = 4, .guided = 0.03F, .first_layer = kFirst, .end_layer = kEnd},
          {.seam = 8, .guided = 0.08F, .first_layer = kFirst, .end_layer = kEnd},
          {.seam = 16, .guided = 0.15F, .first_layer = kFirst, .end_layer = kEnd},
          {.seam = 16, .guided = 0.3F, .first_layer = kFirst, .end_layer = kEnd}};
}

std::optional<RepairPolicy> cheapest_within(std::span<const PolicyTrial> trials, double tolerance) {
  for (const PolicyTrial& trial : trials) {
    if (trial.kl_mean <= tolerance) return trial.policy;
  }
  return std::nullopt;
}

ReuseTrial::ReuseTrial(Behind behind, std::vector<RepairPolicy> policies)
    : behind_(behind),
      policies_(std::move(policies)),
      blocks_(std::make_unique<BlockCache>(BlockCache::Options{.max_memory = kMemory})),
      n_prompts_(reuse_questions().size()),
      ms_(policies_.size()) {
  for (const RepairPolicy& policy : policies_) sums_.push_back({.policy = policy});
}

Result<bool> ReuseTrial::step(LoadedModel& model, const std::stop_token& stop) {
  if (groups_.size() < reuse_samples().size()) return warm(model, stop);
  if (!prompt_) begin_prompt(model);
  const bool full = prompt_->probabilities.empty();
  auto reading = full ? read(model, std::nullopt, stop) : read(model, policies_[next_policy_], stop);
  if (!reading) {
    if (reading.error().code == ErrorCode::kCancelled) return false;
    return fail(reading.error());
  }
  if (full) {
    prompt_->answer = std::move(reading->answer);
    prompt_->probabilities = std::move(reading->probabilities);
    full_ms_.push_back(reading->ms);
  } else {
    if (reading->loaded == 0) {
      return fail(ErrorCode::kModel, "no stored block was reused, so that nothing could be compared",
                  "set a larger context, or more memory");
    }
    compare(next_policy_++, *reading);
  }
  if (next_policy_ == policies_.size()) {
    prompt_.reset();
    next_policy_ = 0;
    ++prompts_done_;
  }
  return true;
}

/// One sample's blocks, as warm computes them.
Result<bool> ReuseTrial::warm(LoadedModel& model, const std::stop_token& stop) {
  if (behind_ == Behind::kNeighbours && groups_.empty()) neighbours_ = sample_neighbours(model);
  auto groups = groups_of(model, reuse_samples()[groups_.size()], neighbours_.tokens);
  for (const BlockGroup& group : groups) {
    GroupRun run(group, group.size());
    if (auto done = run.run(model, *blocks_, stop); !done || !*done) return done;
  }
  groups_.push_back(std::move(groups));
  if (groups_.size() == reuse_samples().size()) blocks_->flush();
  return true;
}

/// Some of the samples in a new order, so that at most the first stands where its blocks were computed.
void ReuseTrial::begin_prompt(const LoadedModel& model) {
  const engine::Tokenizer& tokenizer = model.engine->tokenizer();
  std::vector<std::size_t> order(groups_.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::shuffle(order, random_);
  order.resize(kFilesOfPrompt);
  prompt_ = std::make_shared<Prompt>();
  PromptPlan& plan = prompt_->plan;
  plan.parts.push_back({.kind = PartKind::kHeader, .tokens = model.chat.header()});
  std::vector<engine::TokenId> question =
      tokenizer.encode("\n" + std::string(reuse_questions()[prompts_done_]));
  const auto closing = model.chat.turn_to_assistant();
  question.insert(question.end(), closing.begin(), closing.end());
  const auto room = static_cast<std::size_t>(model.engine->info().context) - kAnswerTokens - 1;
  std::size_t tokens = plan.size() + question.size();
  for (const std::size_t sample : order) {
    for (const BlockGroup& group : groups_[sample]) {
      for (const BlockPart& part : group) {
        if (&part == &group.front()) continue;  // the header
        tokens += part.tokens.size();
        if (tokens > room) break;
        plan.parts.push_back({.kind = PartKind::kFile,
                              .path = std::string(reuse_samples()[sample].path),
                              .first_line = part.span.end > 0 ? part.span.first_line : 0,
                              .tokens = part.tokens});
      }
    }
  }
  plan.parts.push_back({.tokens = std::move(question)});
}

Result<ReuseTrial::Reading> ReuseTrial::read(LoadedModel& model, const std::optional<RepairPolicy>& policy,
                                             const std::stop_token& stop) const {
  engine::Engine& engine = *model.engine;
  auto sequence = engine.new_sequence();
  if (!sequence) return fail(sequence.error());
  const Reuse reuse{.blocks = blocks_.get(),
                    .model = model.names->model,
                    .context = model.names->context,
                    .repair = policy,
                    .neighbours = neighbours_.end};
  const auto start = Clock::now();
  auto read = read_plan(engine, *sequence,
                        {.plan = &prompt_->plan, .reuse = policy ? &reuse : nullptr, .stop = stop});
  if (!read) return fail(read.error());
  Reading reading;
  reading.ms = ms_since(start);
  for (const PartRead& part : read->parts) {
    reading.computed += part.computed + part.repaired;
    reading.loaded += part.loaded;
  }
  reading.probabilities.push_back(engine::log_softmax(engine.logits(*sequence)));
  reading.answer = prompt_->answer;
  if (!policy) {
    const std::int32_t end = sequence->size();
    engine::GenerateParams greedy;
    greedy.max_tokens = kAnswerTokens;
    auto made = engine.generate(*sequence, greedy, {}, stop);
    if (!made) return fail(made.error());
    reading.answer = std::move(made->tokens);
    sequence->truncate(end);
  }
  if (reading.answer.empty()) return reading;
  const auto rows = engine.all_logits(*sequence, reading.answer, stop);
  if (!rows) return fail(rows.error());
  const auto width = rows->size() / reading.answer.size();
  for (std::size_t i = 0; i < reading.answer.size(); ++i)
    reading.probabilities.push_back(engine::log_softmax(std::span(*rows).subspan(i * width, width)));
  return reading;
}

void ReuseTrial::compare(std::size_t policy, const Reading& reading) {
  PolicyTrial& sum = sums_[policy];
  const auto& expected = prompt_->probabilities;
  const auto n = static_cast<double>(expected.size());
  double kl = 0, same = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    kl += engine::divergence(expected[i], reading.probabilities[i]) / n;
    same += (engine::likeliest(expected[i]) == engine::likeliest(reading.probabilities[i])) / n;
  }
  const auto prompts = static_cast<double>(n_prompts_);
  sum.kl_mean += kl / prompts;
  sum.kl_worst = std::max(sum.kl_worst, kl);
  sum.top1 += same / prompts;
  sum.computed += reading.computed / static_cast<double>(prompt_->plan.size()) / prompts;
  ms_[policy].push_back(reading.ms);
}

double ReuseTrial::progress() const {
  const std::size_t steps_a_prompt = policies_.size() + 1;
  const std::size_t all = reuse_samples().size() + n_prompts_ * steps_a_prompt;
  const std::size_t of_prompt = prompt_ && !prompt_->probabilities.empty() ? next_policy_ + 1 : 0;
  return static_cast<double>(groups_.size() + prompts_done_ * steps_a_prompt + of_prompt) /
         static_cast<double>(all);
}

std::vector<PolicyTrial> ReuseTrial::results() const {
  std::vector<PolicyTrial> results = sums_;
  for (std::size_t i = 0; i < results.size() && !full_ms_.empty() && !ms_[i].empty(); ++i)
    results[i].ratio = median(full_ms_) / median(ms_[i]);
  return results;
}

}  // namespace kvboost::daemon
