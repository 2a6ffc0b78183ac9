// SPDX-License-Identifier: Apache-2.0
#include "daemon/pipeline/answer.h"

#include <chrono>
#include <utility>

#include "base/duration.h"

namespace kvboost::daemon {
namespace {

using Clock = std::chrono::steady_clock;

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

  auto taken = live.take(std::span(prompt).first(request.fresh ? 0 : prompt.size()));
  if (!taken) return fail(taken.error());
  engine::Sequence& sequence = taken->sequence;
  const std::int32_t begin = sequence.size();
  const auto give_back = [&] {
    if (!request.fresh) live.give_back(std::move(*taken));
  };
  auto read = read_plan(
      engine, sequence,
      {.plan = request.plan, .reuse = request.reuse, .progress = request.progress, .stop = request.stop});
  if (!read) {
    sequence.truncate(begin);  // behind it blocks may stand unrepaired
    give_back();
    return fail(read.error());
  }
  if (taken->exact_tokens == begin) taken->exact_tokens = read->exact_tokens;
  taken->prompt_tokens = static_cast<std::int32_t>(prompt.size());
  Answered answered;
  answered.read = std::move(*read);
  answered.prompt_tokens = static_cast<std::int32_t>(prompt.size());
  for (const PartRead& part : answered.read.parts) {
    answered.reused_tokens += part.live + part.loaded;
    answered.repaired_tokens += part.repaired;
  }

  const auto decode_start = Clock::now();
  const auto sink = [&](std::string_view text, engine::TokenId token) {
    answered.text += text;
    return !request.sink || request.sink(text, token);
  };
  auto generated = engine.generate(sequence, request.generate, sink, request.stop);
  answered.decode_ms = ms_since(decode_start);
  if (taken->exact_tokens == answered.prompt_tokens) taken->exact_tokens = sequence.size();
  give_back();
  if (!generated) return fail(generated.error());
  answered.generated = std::move(*generated);
  return answered;
}

}  // namespace kvboost::daemon
