// SPDX-License-Identifier: Apache-2.0
#include "daemon/generate_handler.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>
#include <vector>

#include "base/duration.h"
#include "base/text.h"
#include "daemon/generate_params.h"
#include "daemon/prompt/marked_text.h"

namespace kvboost::daemon {
namespace {

using Clock = std::chrono::steady_clock;
using engine::TextPosition;
using engine::TokenId;
using protocol::GenerateParams;
using protocol::GenerateResult;

std::vector<ChatTurn> turns_of(const std::vector<protocol::ChatMessage>& messages) {
  std::vector<ChatTurn> turns;
  for (const protocol::ChatMessage& message : messages) {
    const Speaker speaker = message.role == "system" ? Speaker::kSystem
                            : message.role == "user" ? Speaker::kUser
                                                     : Speaker::kAssistant;
    turns.push_back({speaker, message.content});
  }
  return turns;
}

std::vector<TokenId> encode(const engine::Tokenizer& tokenizer, std::string_view text, bool marks,
                            TextPosition position) {
  return marks ? encode_marked(tokenizer, text, position) : tokenizer.encode(text, position);
}

/// As a prompt begins; a text that names that token itself has it once.
std::vector<TokenId> encode_start(const engine::Tokenizer& tokenizer, std::string_view text, bool marks) {
  std::vector<TokenId> ids = encode(tokenizer, text, marks, TextPosition::kStart);
  const bool there = !ids.empty() && tokenizer.bos() == ids.front();
  if (tokenizer.adds_bos() && !there) ids.insert(ids.begin(), *tokenizer.bos());
  return ids;
}

Result<void> check_tokens(const engine::Tokenizer& tokenizer, const std::vector<TokenId>& tokens) {
  const auto wrong =
      std::ranges::find_if(tokens, [&](TokenId id) { return id < 0 || id >= tokenizer.vocabulary(); });
  if (wrong == tokens.end()) return {};
  return fail(ErrorCode::kInvalidArgument, "the model has no token " + std::to_string(*wrong) + ": it has " +
                                               std::to_string(tokenizer.vocabulary()));
}

Result<std::vector<TokenId>> prompt_of(const LoadedModel& model, const GenerateParams& params) {
  const engine::Tokenizer& tokenizer = model.engine->tokenizer();
  if (static_cast<int>(!params.text.empty()) + static_cast<int>(!params.tokens.empty()) +
          static_cast<int>(!params.messages.empty()) >
      1) {
    return fail(ErrorCode::kInvalidArgument, "text, tokens and messages exclude each other");
  }
  if (!params.messages.empty()) return model.chat.conversation(turns_of(params.messages));
  std::vector<TokenId> prompt = params.tokens;
  if (auto known = check_tokens(tokenizer, prompt); !known) return fail(known.error());
  if (prompt.empty()) prompt = encode_start(tokenizer, params.text, params.marks);
  if (prompt.empty()) return fail(ErrorCode::kInvalidArgument, "the prompt is empty");
  return prompt;
}

}  // namespace

/// One request on its way from thread to thread.
struct GenerateHandler::Run {
  RequestContext context;
  GenerateParams params;
  Reply<GenerateResult> reply;
  std::optional<ModelHost::Lease> model{};
  PromptPlan plan{};
  Clock::time_point planned{};
  double waited_ms = 0;  // for the model
};

void GenerateHandler::bind(Binder& binder) {
  using namespace protocol;
  binder.add<GenerateParams, GenerateResult>("generate", RunOn::kIo,
                                             [this](auto context, auto params, auto reply) {
                                               start(std::move(context), std::move(params), std::move(reply));
                                             });
  binder.add<TokenizeParams, TokenizeResult>(
      "tokenize", RunOn::kIo, [this](const auto& context, auto params, const auto& reply) {
        with_model<TokenizeResult>(
            context, reply, [params = std::move(params)](const LoadedModel& model) -> Result<TokenizeResult> {
              const engine::Tokenizer& tokenizer = model.engine->tokenizer();
              TokenizeResult result;
              result.tokens = !params.messages.empty() ? model.chat.conversation(turns_of(params.messages))
                              : params.start
                                  ? encode_start(tokenizer, params.text, params.marks)
                                  : encode(tokenizer, params.text, params.marks, TextPosition::kInside);
              if (!params.pieces) return result;
              for (const TokenId id : result.tokens) result.pieces.emplace_back(bytes_or_mark(tokenizer, id));
              return result;
            });
      });
  binder.add<DetokenizeParams, DetokenizeResult>(
      "detokenize", RunOn::kIo, [this](const auto& context, auto params, const auto& reply) {
        with_model<DetokenizeResult>(
            context, reply,
            [params = std::move(params)](const LoadedModel& model) -> Result<DetokenizeResult> {
              const engine::Tokenizer& tokenizer = model.engine->tokenizer();
              if (auto known = check_tokens(tokenizer, params.tokens); !known) return fail(known.error());
              DetokenizeResult result;
              for (const TokenId id : params.tokens) result.text += bytes_or_mark(tokenizer, id);
              return result;
            });
      });
}

template <class Value>
void GenerateHandler::with_model(const RequestContext& context, const Reply<Value>& reply,
                                 std::function<Result<Value>(const LoadedModel&)> work) {
  ++parts_.metrics.requests;
  parts_.models.prepare();
  const auto drop = [this, reply](const Error& error) {
    parts_.metrics.count(error);
    reply(fail(error));
  };
  parts_.workers.submit(Priority::kAsk, {.run =
                                             [this, context, reply, drop, work = std::move(work)] {
                                               const auto model = parts_.models.acquire({}, context.stop());
                                               if (!model) return drop(model.error());
                                               const auto result = work(**model);
                                               if (!result) return drop(result.error());
                                               reply(result);
                                             },
                                         .drop = drop,
                                         .stop = context.stop()});
}

void GenerateHandler::start(RequestContext context, GenerateParams params, Reply<GenerateResult> reply) {
  ++parts_.metrics.requests;
  parts_.models.prepare();
  const std::stop_token stop = context.stop();
  auto run = std::make_shared<Run>(Run{std::move(context), std::move(params), std::move(reply)});
  parts_.workers.submit(Priority::kAsk,
                        {.run = [this, run] { plan_on_worker(run); },
                         .drop = [this, run](Error error) { end(*run, fail(std::move(error))); },
                         .stop = stop});
}

void GenerateHandler::plan_on_worker(const std::shared_ptr<Run>& run) {
  const auto waiting = Clock::now();
  auto model = parts_.models.acquire({}, run->context.stop());
  run->waited_ms = ms_between(waiting, Clock::now());
  if (!model) return end(*run, fail(model.error()));
  run->model.emplace(std::move(*model));
  auto prompt = prompt_of(**run->model, run->params);
  if (!prompt) return end(*run, fail(prompt.error()));
  const auto size = static_cast<std::int32_t>(prompt->size());
  run->plan.parts.push_back({.tokens = std::move(*prompt)});
  run->context.notify("generate/start", protocol::GenerateStart{(*run->model)->engine->spec().name, size});
  run->planned = Clock::now();
  parts_.engine_thread.submit(Priority::kAsk,
                              {.run = [this, run] { write_on_engine(run); },
                               .drop = [this, run](Error error) { end(*run, fail(std::move(error))); },
                               .stop = run->context.stop()});
}

void GenerateHandler::write_on_engine(const std::shared_ptr<Run>& run) {
  LoadedModel& model = **run->model;
  const auto started = Clock::now();
  AnswerRequest request;
  request.plan = &run->plan;
  request.fresh = !run->params.reuse;
  request.generate = generate_params(run->params);
  request.generate.stop_strings = run->params.stop;
  request.stop = run->context.stop();
  request.progress = [&](std::int32_t, std::int32_t) {
    parts_.engine_thread.yield_to_more_urgent(Priority::kAsk);
  };
  request.sink = [&](std::string_view text, TokenId) {
    parts_.engine_thread.yield_to_more_urgent(Priority::kAsk);
    return run->context.notify("generate/token", protocol::GenerateToken{std::string(text)});
  };
  const auto answered = answer(*model.engine, model.live, request);
  parts_.models.note_live(model);
  if (!answered) return end(*run, fail(answered.error()));
  if (answered->generated.reason == engine::FinishReason::kSink)
    return end(*run, fail(ErrorCode::kCancelled, "the client stopped reading"));
  end(*run, result_of(*run, *answered, ms_between(run->planned, started)));
}

GenerateResult GenerateHandler::result_of(const Run& run, const Answered& answered, double queued_ms) {
  GenerateResult result;
  result.text = answered.text;
  result.finish_reason = engine::to_string(answered.generated.reason);
  result.model = (*run.model)->engine->spec().name;
  result.tokens = answered.generated.tokens;
  result.prompt_tokens = answered.prompt_tokens;
  result.reused_tokens = answered.reused_tokens;
  result.timings.queue_ms = run.waited_ms + queued_ms;
  result.timings.prefill_ms = answered.read.prefill_ms;
  result.timings.decode_ms = answered.decode_ms;
  result.timings.tokens_per_second = answered.tokens_per_second();
  return result;
}

/// The one way out: counts and answers.
void GenerateHandler::end(Run& run, const Result<GenerateResult>& outcome) {
  if (outcome) {
    parts_.metrics.prompt_tokens += outcome->prompt_tokens;
    parts_.metrics.reused_tokens += outcome->reused_tokens;
    run.context.describe(formatted("%d tokens read, %d of them reused, %zu written", outcome->prompt_tokens,
                                   outcome->reused_tokens, outcome->tokens.size()));
  } else {
    parts_.metrics.count(outcome.error());
  }
  run.reply(outcome);
}

}  // namespace kvboost::daemon
