// SPDX-License-Identifier: Apache-2.0
#include "daemon/pipeline/answer.h"

#include <algorithm>
#include <chrono>
#include <span>
#include <utility>

namespace kvboost::daemon {
namespace {

using Clock = std::chrono::steady_clock;

double ms_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

/// How many of each part's tokens lie within the first `reused` tokens of the prompt.
std::vector<std::int32_t> by_part(const PromptPlan& plan, std::int32_t reused) {
  std::vector<std::int32_t> counts;
  counts.reserve(plan.parts.size());
  for (const PlanPart& part : plan.parts) {
    counts.push_back(std::min(reused, static_cast<std::int32_t>(part.tokens.size())));
    reused -= counts.back();
  }
  return counts;
}

Error does_not_fit(std::size_t prompt, std::int32_t context) {
  return {
      ErrorCode::kInvalidArgument,
      "the prompt has " + std::to_string(prompt) + " tokens, the model's context " + std::to_string(context),
      "ask about fewer files, shorten the question, or begin a new conversation"};
}

}  // namespace

Result<Answered> answer(engine::Engine& engine, LiveSequences& live, const AnswerRequest& request) {
  const std::vector<engine::TokenId> prompt = request.plan->tokens();
  const std::int32_t context = engine.info().context;
  if (prompt.size() >= static_cast<std::size_t>(context)) return fail(does_not_fit(prompt.size(), context));

  auto sequence = live.take(prompt);
  if (!sequence) return fail(sequence.error());

  Answered answered;
  answered.prompt_tokens = static_cast<std::int32_t>(prompt.size());
  answered.reused_tokens = sequence->size();
  answered.reused_by_part = by_part(*request.plan, answered.reused_tokens);

  const auto prefill_start = Clock::now();
  const auto rest = std::span(prompt).subspan(static_cast<std::size_t>(answered.reused_tokens));
  const auto total = static_cast<std::int32_t>(rest.size());
  engine::PrefillOptions options;
  options.stop = request.stop;
  if (request.progress) options.progress = [&](std::int32_t done) { request.progress(done, total); };
  const Result<void> read = engine.prefill(*sequence, rest, options);
  answered.prefill_ms = ms_since(prefill_start);
  if (!read) {
    live.give_back(std::move(*sequence));
    return fail(read.error());
  }

  const auto decode_start = Clock::now();
  const auto sink = [&](std::string_view text, engine::TokenId token) {
    answered.text += text;
    return !request.sink || request.sink(text, token);
  };
  auto generated = engine.generate(*sequence, request.generate, sink, request.stop);
  answered.decode_ms = ms_since(decode_start);
  live.give_back(std::move(*sequence));
  if (!generated) return fail(generated.error());
  answered.generated = std::move(*generated);
  return answered;
}

}  // namespace kvboost::daemon
