// SPDX-License-Identifier: Apache-2.0
#include "daemon/complete_handler.h"

#include <chrono>
#include <utility>

#include "base/duration.h"
#include "daemon/pipeline/deadline_stop.h"
#include "daemon/pipeline/either_stop.h"
#include "daemon/plan_report.h"

namespace kvboost::daemon {
namespace {

using Clock = std::chrono::steady_clock;
using protocol::CompleteParams;
using protocol::CompleteResult;

constexpr std::size_t kMostClients = 256;  // of those whose last request is remembered
// Of the time that a request has, the look for related places may take this share.
constexpr double kLookShare = 0.5;
constexpr std::chrono::seconds kAheadTime(5);

HintShape shape_of(const std::string& name) {
  if (name == "line") return HintShape::kLine;
  return name == "block" ? HintShape::kBlock : HintShape::kAuto;
}

CompletionRequest request_of(const CompleteParams& params, const std::string& client) {
  CompletionRequest request{.client = client,
                            .directory = params.directory,
                            .path = params.path,
                            .buffer = EditBuffer(params.text, params.offset),
                            .shape = shape_of(params.shape),
                            .alternatives = params.alternatives,
                            .max_tokens = params.max_tokens};
  for (const protocol::CompletePlace& place : params.ring) request.ring.push_back({place.path, place.line});
  for (const protocol::CompleteExtra& extra : params.extra) request.extra.push_back({extra.name, extra.text});
  return request;
}

Clock::duration duration_of(double ms) {
  return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double, std::milli>(ms));
}

/// The time for writing, from the first text on. Once it is over, the hint ends behind its first line, and no
/// other one is begun. Engine thread.
class WritingTime {
 public:
  /// 0: no limit.
  explicit WritingTime(Clock::duration limit) : limit_(limit) {}

  void note(std::string_view text) {
    if (!first_) first_ = Clock::now();
    has_line_ = has_line_ || text.contains('\n');
    if (has_line_ && is_over()) over_.request_stop();
  }
  [[nodiscard]] bool is_over() const {
    return limit_.count() > 0 && first_ && Clock::now() - *first_ >= limit_;
  }
  [[nodiscard]] bool has_ended() const { return over_.stop_requested(); }
  [[nodiscard]] std::stop_token token() const { return over_.get_token(); }

 private:
  const Clock::duration limit_;
  std::optional<Clock::time_point> first_;
  bool has_line_ = false;
  std::stop_source over_;
};

}  // namespace

/// One request on its way from thread to thread, or the work ahead of one.
struct CompleteHandler::Run {
  Run(RequestContext of, CompletionRequest what, const CompleteParams& params,
      std::optional<Reply<CompleteResult>> to)
      : context(std::move(of)),
        request(std::move(what)),
        ahead(params.ahead),
        reuse(params.reuse),
        explain(params.explain),
        supersedes(params.supersede),
        budget(duration_of(params.budget_ms)),
        writing(duration_of(params.write_ms)),
        received(context.received()),
        reply(std::move(to)) {}

  /// What would follow once the hint is accepted: nobody waits for it.
  Run(const Run& before, const std::string& hint)
      : context(before.context), request(before.request), budget(kAheadTime), received(Clock::now()) {
    request.buffer = before.request.buffer.with(hint);
  }

  const RequestContext context;
  CompletionRequest request;
  const bool ahead = false, reuse = true, explain = false, supersedes = true;
  const Clock::duration budget;     // 0: no limit
  const Clock::duration writing{};  // 0: no limit
  const Clock::time_point received;
  const std::optional<Reply<CompleteResult>> reply;  // none: it is ahead of its time
  std::stop_source superseded{};
  EitherStop either{context.stop(), superseded.get_token()};
  std::optional<ModelHost::Lease> model{};
  std::optional<Completer::Prepared> prepared{};
  Clock::time_point planned{}, started{};
  double waited_ms = 0;  // for the model
  bool shown = false;    // some text went out
  ReuseVerdict verdict{};
  Digest neighbours{};

  [[nodiscard]] Clock::time_point deadline(double share = 1) const {
    if (budget.count() == 0) return Clock::time_point::max();
    return received + std::chrono::duration_cast<Clock::duration>(budget * share);
  }
  [[nodiscard]] Priority priority() const { return reply ? Priority::kCompletion : Priority::kAsk; }
};

CompleteHandler::CompleteHandler(const Parts& parts)
    : parts_(parts),
      completer_(parts.repositories,
                 {static_cast<std::size_t>(parts.config.integer("complete_tokens")), parts.chunking}) {}

void CompleteHandler::bind(Binder& binder) {
  binder.add<CompleteParams, CompleteResult>(
      "complete", RunOn::kIo, [this](auto context, auto params, auto reply) {
        ++parts_.metrics.requests;
        parts_.models.prepare();
        const std::string client = params.client.empty() ? "session " + std::to_string(context.session())
                                                         : "client " + params.client;
        auto request = request_of(params, client);
        start(std::make_shared<Run>(std::move(context), std::move(request), params, std::move(reply)));
      });
}

void CompleteHandler::start(const RunPtr& run) {
  if (run->supersedes) supersede(*run);
  parts_.workers.submit(run->priority(),
                        {.run = [this, run] { prepare_on_worker(run); },
                         .drop = [this, run](Error error) { end(run, fail(std::move(error))); },
                         .stop = run->either.token(),
                         .is_request = run->reply.has_value()});
}

void CompleteHandler::supersede(Run& run) {
  std::stop_source before;
  {
    const std::lock_guard lock(mutex_);
    if (running_.size() >= kMostClients && !running_.contains(run.request.client)) running_.clear();
    before = std::exchange(running_[run.request.client], run.superseded);
  }
  before.request_stop();  // without the lock: it may end that request here and now
}

void CompleteHandler::prepare_on_worker(const RunPtr& run) {
  const std::stop_token stop = run->either.token();
  const DeadlineStop late(stop, run->deadline());
  const auto waiting = Clock::now();
  auto model = parts_.models.acquire({}, late.token());
  run->waited_ms = ms_between(waiting, Clock::now());
  if (!model && late.is_late()) {
    return end(run, fail(ErrorCode::kBusy, "the model was not loaded within the time given",
                         "ask again, or give more time"));
  }
  if (!model) return end(run, fail(model.error()));
  run->model.emplace(std::move(*model));
  if (run->reuse) {
    if (const auto known = recent_result(*run)) return end(run, *known);
  }
  const DeadlineStop look(stop, run->deadline(kLookShare));
  auto prepared = completer_.prepare(run->request, **run->model, stop, look.token());
  if (!prepared) return end(run, fail(prepared.error()));
  run->prepared.emplace(std::move(*prepared));
  run->neighbours = parts_.neighbours.find(**run->model, run->prepared->root).end;
  run->planned = Clock::now();
  parts_.engine_thread.submit(run->priority(),
                              {.run = [this, run] { write_on_engine(run); },
                               .drop = [this, run](Error error) { end(run, fail(std::move(error))); },
                               .stop = stop,
                               .is_request = run->reply.has_value()});
}

void CompleteHandler::write_on_engine(const RunPtr& run) {
  LoadedModel& model = **run->model;
  run->started = Clock::now();
  const DeadlineStop late(run->either.token(), run->deadline());
  std::optional<Reuse> reuse;
  if (run->reuse && model.names) {
    run->verdict = parts_.gate.verdict(model.engine->spec(), model.names->context);
    reuse = reuse_within(run->verdict, *model.names, parts_.blocks, run->neighbours,
                         parts_.config.text("assembly") == "prefix-only");
  }
  Completer::Writing writing{.reuse = reuse ? &*reuse : nullptr, .fresh = !run->reuse};
  WritingTime time(run->writing);
  const EitherStop either(late.token(), time.token());
  writing.stop = either.token();
  writing.is_late = [&] { return late.is_late() || time.has_ended(); };
  writing.is_enough = [&] { return time.is_over(); };
  if (run->reply) {
    writing.sink = [&](std::string_view text) {
      run->shown = true;
      time.note(text);
      return run->context.notify("complete/token", protocol::CompleteToken{std::string(text)});
    };
  }
  const auto written = completer_.write(*run->prepared, model, writing);
  parts_.models.note_live(model);
  if (!written) return end(run, fail(written.error()));
  end(run, result_of(*run, *written));
  const bool any = !written->hints.empty() && !written->hints.front().text.empty();
  if (run->ahead && any && !run->superseded.stop_requested())
    start(std::make_shared<Run>(*run, written->hints.front().text));
}

CompleteResult CompleteHandler::result_of(const Run& run, const WrittenHints& written) const {
  const LoadedModel& model = **run.model;
  const EditBuffer& buffer = run.request.buffer;
  CompleteResult result;
  for (const Hint& hint : written.hints) {
    if (!hint.text.empty())
      result.hints.push_back({buffer.with_own_line_ends(hint.text), hint.finish_reason});
  }
  const FillFamily family = run.prepared->plan.family;
  const bool fills = family != FillFamily::kNone;
  result.offset = static_cast<std::int64_t>(buffer.given_offset());
  result.shape = run.prepared->place.wanted == cache::WantedText::kLine ? "line" : "block";
  result.method = fills ? "fill-in-the-middle" : "prefix";
  result.origin = "model";
  if (fills) {
    result.family = to_string(family);
  } else {
    result.note =
        "the model has no marks to fill in the middle with: it saw nothing of what follows the cursor";
  }
  result.incomplete = run.prepared->incomplete;
  if (!written.hints.empty() && written.hints.front().text.empty())
    result.incomplete = "the time was over before anything was written";
  result.model = model.engine->spec().name;
  result.root = run.prepared->root;
  result.prompt_tokens = written.prompt_tokens;
  result.live_tokens = written.live_tokens;
  result.loaded_tokens = written.loaded_tokens;
  result.computed_tokens = written.computed_tokens;
  result.repaired_tokens = written.repaired_tokens;
  for (const Hint& hint : written.hints) result.written_tokens += hint.tokens;
  const ReusePermit& permit = permit_of(run.verdict, written.read);
  result.policy = repair_policy_name(permit.policy);
  result.policy_reason = permit.reason;
  if (run.explain) result.chunks = chunks_of(run.prepared->plan.prompt, written.read.parts);

  protocol::CompleteTimings& timings = result.timings;
  timings.lookup_ms = ms_between(run.received, run.planned) - run.waited_ms;
  timings.queue_ms = run.waited_ms + ms_between(run.planned, run.started);
  timings.load_ms = written.read.load_ms;
  timings.select_ms = written.read.select_ms;
  timings.prefill_ms = written.read.prefill_ms;
  timings.suffix_ms = written.suffix_ms;
  timings.decode_ms = written.decode_ms;
  if (run.shown) {
    if (const auto first = run.context.written_at("complete/token", std::chrono::milliseconds(50)))
      timings.first_token_ms = ms_between(run.received, *first);
  }
  timings.total_ms = ms_between(run.received, Clock::now());
  return result;
}

std::optional<CompleteResult> CompleteHandler::recent_result(const Run& run) const {
  const LoadedModel& model = **run.model;
  const auto known = completer_.recent(run.request, model);
  if (!known) return std::nullopt;
  CompleteResult result;
  for (const std::string& text : *known) {
    if (!text.empty()) result.hints.push_back({run.request.buffer.with_own_line_ends(text), {}});
  }
  result.offset = static_cast<std::int64_t>(run.request.buffer.given_offset());
  result.origin = "recent";
  result.model = model.engine->spec().name;
  result.timings.total_ms = ms_between(run.received, Clock::now());
  return result;
}

/// The one way out: counts and answers.
void CompleteHandler::end(const RunPtr& run, const Result<CompleteResult>& outcome) {
  if (!run->reply) return;
  if (outcome) {
    parts_.metrics.prompt_tokens += outcome->prompt_tokens;
    parts_.metrics.reused_tokens += outcome->live_tokens + outcome->loaded_tokens;
  } else {
    parts_.metrics.count(outcome.error());
  }
  (*run->reply)(outcome);
}

}  // namespace kvboost::daemon
