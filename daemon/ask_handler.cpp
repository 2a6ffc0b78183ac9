// SPDX-License-Identifier: Apache-2.0
#include "daemon/ask_handler.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <optional>
#include <ranges>
#include <span>
#include <utility>

#include "base/duration.h"
#include "base/text.h"
#include "daemon/generate_params.h"
#include "daemon/plan_report.h"
#include "daemon/prompt/assembler.h"
#include "daemon/prompt/prompt_order.h"

namespace kvboost::daemon {
namespace {

using Clock = std::chrono::steady_clock;

/// Tokens of the prompt. The rest is room for the answer, but never more than half of the context: a long
/// limit is no wish for a long answer.
std::int32_t prompt_budget(std::int32_t context, const protocol::AskParams& params) {
  return context - std::min(params.max_tokens, context / 2);
}

/// The runs of chunks of a plan, each with how much of it need not be computed.
std::vector<protocol::AskFile> files_of(const PromptPlan& plan, std::span<const PartRead> read) {
  std::vector<protocol::AskFile> files;
  for (std::size_t i = 0; i < plan.parts.size(); ++i) {
    const PlanPart& part = plan.parts[i];
    if (part.kind != PartKind::kFile) continue;
    if (part.is_opening() || files.empty() || files.back().path != part.path) {
      files.push_back({.path = part.path, .whole_file = part.whole_file, .score = part.score});
    }
    protocol::AskFile& file = files.back();
    if (file.first_line == 0) file.first_line = part.first_line;
    file.last_line = part.last_line;
    file.tokens += static_cast<std::int32_t>(part.tokens.size());
    file.reused += read[i].live + read[i].loaded;
    file.loaded += read[i].loaded;
    file.repaired += read[i].repaired;
  }
  return files;
}

/// The chunks of a plan that had to be found or computed.
protocol::ReuseCount reuse_count(const PromptPlan& plan, std::span<const PartRead> read) {
  protocol::ReuseCount count;
  for (std::size_t i = 0; i < plan.parts.size(); ++i) {
    const bool chunk = plan.parts[i].kind == PartKind::kFile && !plan.parts[i].is_opening();
    if (!chunk || read[i].loaded + read[i].computed == 0) continue;
    const Match match = read[i].match;
    ++(match == Match::kExact         ? count.exact
       : match == Match::kApproximate ? count.approximate
                                      : count.missed);
  }
  return count;
}

}  // namespace

/// One request on its way from thread to thread.
struct AskHandler::Run {
  RequestContext context;
  protocol::AskParams params;
  Reply<protocol::AskResult> reply;
  std::shared_ptr<Repository> repository{};
  std::optional<ModelHost::Lease> model{};
  PromptPlan plan{};
  Clock::time_point planned{};
  double waited_ms = 0;     // for the model, while the repository was being read
  std::string continues{};  // the question before
  ReuseVerdict verdict{};
  Digest neighbours{};

  void progress(const char* stage, std::int64_t done, std::int64_t total) const {
    context.notify("ask/progress", protocol::AskProgress{stage, done, total});
  }
};

void AskHandler::operator()(RequestContext context, protocol::AskParams params,
                            Reply<protocol::AskResult> reply) {
  ++parts_.metrics.requests;
  parts_.models.prepare();  // loads while the repository is read
  const std::stop_token stop = context.stop();
  auto run = std::make_shared<Run>(Run{std::move(context), std::move(params), std::move(reply)});
  parts_.workers.submit(Priority::kAsk,
                        {.run = [this, run] { assemble_on_worker(run); },
                         .drop = [this, run](Error error) { end(*run, fail(std::move(error))); },
                         .stop = stop});
}

void AskHandler::assemble_on_worker(const std::shared_ptr<Run>& run) {
  auto plan = plan_for(*run);
  if (!plan) return end(*run, fail(plan.error()));
  run->plan = std::move(*plan);
  run->planned = Clock::now();
  if (parts_.engine_thread.load().running > 0) run->progress("queued", 0, 0);
  parts_.engine_thread.submit(Priority::kAsk,
                              {.run = [this, run] { answer_on_engine(run); },
                               .drop = [this, run](Error error) { end(*run, fail(std::move(error))); },
                               .stop = run->context.stop()});
}

Result<PromptPlan> AskHandler::plan_for(Run& run) {
  const std::stop_token stop = run.context.stop();
  if (auto there = parts_.models.check(); !there) return fail(there.error());
  auto repository = parts_.repositories.open(run.params.directory);
  if (!repository) return fail(repository.error());
  run.repository = *repository;
  if (!run.params.continue_conversation || !run.params.paths.empty()) {
    auto fresh = run.repository->refresh(
        stop, [&](std::int64_t done, std::int64_t total) { run.progress("reading", done, total); });
    if (!fresh) return fail(fresh.error());
  }
  const auto wait_start = Clock::now();
  auto model =
      parts_.models.acquire([&](std::int64_t percent) { run.progress("loading", percent, 100); }, stop);
  run.waited_ms = ms_between(wait_start, Clock::now());
  if (!model) return fail(model.error());
  run.model.emplace(std::move(*model));
  run.neighbours = parts_.neighbours.find(**run.model, run.repository->root().string()).end;
  return run.params.continue_conversation ? next_turn(run) : first_turn(run);
}

Result<PromptPlan> AskHandler::first_turn(Run& run) {
  run.progress("choosing", 0, 0);
  const LoadedModel& model = **run.model;
  auto plan = assemble(*run.repository,
                       {.question = run.params.question,
                        .paths = run.params.paths,
                        .directory = run.params.directory,
                        .budget = prompt_budget(model.engine->info().context, run.params),
                        .by_words = run.params.prompt_tokens},
                       model.chat, model.engine->tokenizer(), run.context.stop());
  if (plan && run.params.reuse) {
    if (const auto last = parts_.conversations.last(run.repository->root(), model.path.string(),
                                                    model.engine->tokenizer())) {
      keep_order(*plan, last->parts);
    }
  }
  return plan;
}

Result<PromptPlan> AskHandler::next_turn(Run& run) {
  const LoadedModel& model = **run.model;
  const engine::Tokenizer& tokenizer = model.engine->tokenizer();
  auto last = parts_.conversations.last(run.repository->root(), model.path.string(), tokenizer);
  if (!last) return fail(last.error());
  PromptPlan plan;
  plan.parts = std::move(last->parts);
  run.continues = std::move(last->question);
  PlanPart turn;
  turn.tokens = model.chat.turn_to_user();
  if (!run.params.paths.empty()) {
    // New files come with the new turn, behind what was said before.
    auto added = first_turn(run);
    if (!added) return added;
    plan.parts.push_back(std::exchange(turn, {}));
    std::ranges::move(added->parts | std::views::drop(1), std::back_inserter(plan.parts));
    plan.left_out = std::move(added->left_out);
    return plan;
  }
  for (const auto& tokens : {tokenizer.encode(run.params.question), model.chat.turn_to_assistant()}) {
    turn.tokens.insert(turn.tokens.end(), tokens.begin(), tokens.end());
  }
  plan.parts.push_back(std::move(turn));
  return plan;
}

std::optional<Reuse> AskHandler::reuse_of(const LoadedModel& model, const Run& run) const {
  if (!model.names || !run.params.reuse) return std::nullopt;
  return reuse_within(run.verdict, *model.names, parts_.blocks, run.neighbours,
                      parts_.config.text("assembly") == "prefix-only");
}

ReuseVerdict AskHandler::verdict_of(const LoadedModel& model, const Run& run) const {
  if (!run.params.reuse) return ReuseVerdict::alike({std::nullopt, "the request wants every token read"});
  if (!model.names) return ReuseVerdict::alike({std::nullopt, "nothing can be stored for this model"});
  return parts_.gate.verdict(model.engine->spec(), model.names->context);
}

void AskHandler::answer_on_engine(const std::shared_ptr<Run>& run) {
  LoadedModel& model = **run->model;
  const auto started = Clock::now();
  AnswerRequest request;
  request.plan = &run->plan;
  request.fresh = !run->params.reuse;
  run->verdict = verdict_of(model, *run);
  const auto reuse = reuse_of(model, *run);
  if (reuse) request.reuse = &*reuse;
  request.generate = generate_params(run->params);
  request.stop = run->context.stop();
  request.progress = [&](std::int32_t done, std::int32_t total) {
    run->progress("prefill", done, total);
    parts_.engine_thread.yield_to_more_urgent(Priority::kAsk);
  };
  request.sink = [&](std::string_view text, engine::TokenId) {
    parts_.engine_thread.yield_to_more_urgent(Priority::kAsk);
    return run->context.notify("ask/token", protocol::AskToken{std::string(text)});
  };
  auto answered = answer(*model.engine, model.live, request);
  parts_.models.note_live(model);
  if (!answered) return end(*run, fail(answered.error()));
  if (answered->generated.reason == engine::FinishReason::kSink) {
    return end(*run, fail(ErrorCode::kCancelled, "the client stopped reading"));
  }
  const auto result = result_of(*run, *answered, ms_between(run->planned, started));
  const bool moved = run->verdict.behind_header.policy || run->verdict.behind_neighbours.policy;
  if (moved && result.reuse.approximate > 0)
    parts_.warmer.improve(model.names->context, leading_blocks(run->plan, model.names->context));
  remember(*run, *answered);  // before the reply: the next question may come the moment that is read
  end(*run, result);
}

protocol::AskResult AskHandler::result_of(const Run& run, const Answered& answered, double queued_ms) {
  const LoadedModel& model = **run.model;
  protocol::AskResult result;
  result.text = answered.text;
  result.finish_reason = engine::to_string(answered.generated.reason);
  result.model = model.engine->spec().name;
  result.root = run.repository->root().string();
  result.note = run.repository->untold_note();
  result.continues = run.continues;
  result.prompt_tokens = answered.prompt_tokens;
  result.reused_tokens = answered.reused_tokens;
  result.repaired_tokens = answered.repaired_tokens;
  const ReusePermit& permit = permit_of(run.verdict, answered.read);
  result.policy = repair_policy_name(permit.policy);
  result.policy_reason = permit.reason;
  result.answer_tokens = static_cast<std::int32_t>(answered.generated.tokens.size());
  result.reuse = reuse_count(run.plan, answered.read.parts);
  result.files = files_of(run.plan, answered.read.parts);
  if (run.params.explain) result.chunks = chunks_of(run.plan, answered.read.parts);
  for (const LeftOut& left : run.plan.left_out) result.left_out.push_back({left.path, left.reason});

  protocol::AskTimings& timings = result.timings;
  const auto received = run.context.received();
  timings.lookup_ms = ms_between(received, run.planned) - run.waited_ms;
  timings.queue_ms = run.waited_ms + queued_ms;
  timings.load_ms = answered.read.load_ms;
  timings.select_ms = answered.read.select_ms;
  timings.prefill_ms = answered.read.prefill_ms;
  if (const auto first = run.context.written_at("ask/token", std::chrono::milliseconds(50))) {
    timings.first_token_ms = ms_between(received, *first);
  }
  timings.decode_ms = answered.decode_ms;
  timings.tokens_per_second = answered.tokens_per_second();
  return result;
}

/// The one way out: counts and answers.
void AskHandler::end(Run& run, const Result<protocol::AskResult>& outcome) {
  if (outcome) {
    parts_.metrics.prompt_tokens += outcome->prompt_tokens;
    parts_.metrics.reused_tokens += outcome->reused_tokens;
    run.context.describe(formatted("%d tokens read, %d of them reused, %d answered, the first after %.0f ms",
                                   outcome->prompt_tokens, outcome->reused_tokens, outcome->answer_tokens,
                                   outcome->timings.first_token_ms));
  } else {
    parts_.metrics.count(outcome.error());
  }
  run.reply(outcome);
}

void AskHandler::remember(Run& run, const Answered& answered) {
  const LoadedModel& model = **run.model;
  Conversation conversation{model.path.string(), std::move(run.plan.parts), run.params.question};
  PlanPart spoken;
  spoken.tokens = answered.generated.tokens;
  conversation.parts.push_back(std::move(spoken));
  parts_.conversations.keep(run.repository->root(), std::move(conversation), model.engine->tokenizer());
}

}  // namespace kvboost::daemon
