// SPDX-License-Identifier: Apache-2.0
#include "daemon/locate_handler.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/duration.h"
#include "base/text.h"
#include "cache/rank/fixable.h"
#include "daemon/pipeline/deadline_stop.h"
#include "daemon/pipeline/reuse_gate.h"
#include "daemon/pipeline/words_ranker.h"
#include "daemon/prompt/functions.h"
#include "daemon/prompt/named_paths.h"

namespace kvboost::daemon {
namespace {

using Clock = std::chrono::steady_clock;
using protocol::LocateParams;
using protocol::LocateResult;

constexpr std::size_t kMostSuspects = 200;
constexpr std::size_t kLongestLine = 160;
// Of so many files the functions are told: who wants more files wants a list.
constexpr std::size_t kMostParsed = 30;

/// Line `number` of the text without the blanks around it.
std::string line_of(std::string_view text, std::int32_t number) {
  std::size_t begin = 0;
  for (; number > 1; --number) {
    begin = text.find('\n', begin);
    if (begin == std::string_view::npos) return {};
    ++begin;
  }
  const std::string_view line = text.substr(begin, text.find('\n', begin) - begin);
  return std::string(utf8_beginning(trimmed(line, " \t\r"), kLongestLine));
}

}  // namespace

/// One request.
struct LocateHandler::Run {
  RequestContext context;
  LocateParams params;
  Reply<LocateResult> reply;
  std::shared_ptr<Repository> repository{};
  Report report{};
  LocateResult result{};
  std::map<std::string, protocol::LocateFile> looked_into{};  // without scores

  void progress(const char* stage, std::int64_t done, std::int64_t total) const {
    context.notify("locate/progress", protocol::LocateProgress{stage, done, total});
  }

  [[nodiscard]] Clock::time_point deadline() const {
    if (params.budget_s <= 0) return Clock::time_point::max();
    return context.received() +
           std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(params.budget_s));
  }

  /// The first of the suspects, as the client wants them.
  [[nodiscard]] std::vector<protocol::LocateFile> files(const std::vector<Suspect>& suspects) {
    std::vector<protocol::LocateFile> files;
    const auto n = std::min(suspects.size(), static_cast<std::size_t>(params.top));
    for (std::size_t i = 0; i < n; ++i) {
      const Suspect& suspect = suspects[i];
      auto known = looked_into.find(suspect.path);
      if (known == looked_into.end())
        known = looked_into.emplace(suspect.path, look_into(suspect, i < kMostParsed)).first;
      protocol::LocateFile& file = files.emplace_back(known->second);
      file.score = suspect.score;
      for (const auto& [ranker, score] : suspect.scores) file.scores.push_back({ranker, score});
    }
    return files;
  }

 private:
  /// What stands in the file itself.
  [[nodiscard]] protocol::LocateFile look_into(const Suspect& suspect, bool parse) const {
    protocol::LocateFile file;
    file.path = suspect.path;
    const auto text = repository->read(suspect.path);
    if (!text) return file;  // gone since the refresh
    const std::size_t functions = parse ? static_cast<std::size_t>(params.functions) : 0;
    for (FoundFunction& found :
         find_functions(suspect.path, *text, report.query, suspect.named_line, functions)) {
      file.functions.push_back({std::move(found.name), found.first_line, found.last_line});
    }
    if (suspect.named_line > 0) {
      file.line = suspect.named_line;
    } else if (!file.functions.empty()) {
      file.line = file.functions.front().first_line;
    } else if (!suspect.spans.empty()) {
      file.line = line_number(*text, suspect.spans.front().begin);
    }
    file.text = line_of(*text, file.line);
    return file;
  }
};

void LocateHandler::bind(Binder& binder) {
  binder.add<LocateParams, LocateResult>("locate", RunOn::kIo, [this](auto context, auto params, auto reply) {
    ++parts_.metrics.requests;
    if (params.model) parts_.models.prepare();  // loads while the repository is read
    const std::stop_token stop = context.stop();
    auto run = std::make_shared<Run>(Run{std::move(context), std::move(params), std::move(reply)});
    parts_.workers.submit(Priority::kAsk,
                          {.run = [this, run] { end(*run, locate(*run)); },
                           .drop = [this, run](Error error) { end(*run, fail(std::move(error))); },
                           .stop = stop});
  });
}

void LocateHandler::end(const Run& run, const Result<LocateResult>& outcome) {
  if (!outcome) parts_.metrics.count(outcome.error());
  run.reply(outcome);
}

Result<LocateResult> LocateHandler::locate(Run& run) {
  const std::stop_token stop = run.context.stop();
  auto repository = parts_.repositories.open(run.params.directory);
  if (!repository) return fail(repository.error());
  run.repository = std::move(*repository);
  const auto begin = Clock::now();
  const auto fresh = run.repository->refresh(
      stop, [&](std::int64_t done, std::int64_t total) { run.progress("reading", done, total); });
  if (!fresh) return fail(fresh.error());
  const auto filter = filter_of(run);
  if (!filter) return fail(filter.error());
  const auto refreshed = Clock::now();

  run.report = read_report(run.params.report);
  LocateRun ranking(
      {.repository = *run.repository,
       .report = run.report,
       .wanted = *filter,
       .deadline = run.deadline(),
       .stop = stop,
       .progress = [&](std::int64_t done, std::int64_t total) { run.progress("scoring", done, total); }});
  WordsRanker words(kMostSuspects);
  if (auto ranked = ranking.apply(words); !ranked) return fail(ranked.error());
  LocateResult& result = run.result;
  result.files = run.files(ranking.suspects());
  result.candidates = static_cast<std::int64_t>(words.found());
  run.context.notify("locate/ranking",
                     protocol::LocateRanking{std::string(WordsRanker::kName), result.files});
  result.timings.refresh_ms = ms_between(begin, refreshed);
  result.timings.words_ms = ms_between(refreshed, Clock::now());

  if (run.params.model && !ranking.suspects().empty()) {
    if (auto ranked = rank_by_model(run, ranking); !ranked) return fail(ranked.error());
    result.files = run.files(ranking.suspects());
    run.context.notify("locate/ranking",
                       protocol::LocateRanking{std::string(ModelRanker::kName), result.files});
  }
  result.root = run.repository->root().string();
  result.note = run.repository->untold_note();
  result.timings.total_ms = ms_between(run.context.received(), Clock::now());
  return std::move(result);
}

/// Which files may be named.
Result<FileFilter> LocateHandler::filter_of(const Run& run) const {
  if (run.params.paths.empty()) {
    if (run.params.all_files) return FileFilter();
    return FileFilter(cache::is_fixable);
  }
  const auto paths = resolve_paths(*run.repository, run.params.paths, run.params.directory);
  if (!paths) return fail(paths.error());
  auto wanted = std::make_shared<const std::set<std::string>>(paths->begin(), paths->end());
  return FileFilter([wanted = std::move(wanted)](const std::string& path) { return wanted->contains(path); });
}

/// Without a model, or without the time for it, the ranking stays as it is, and the result says why.
Result<void> LocateHandler::rank_by_model(Run& run, LocateRun& ranking) {
  LocateResult& result = run.result;
  const auto begin = Clock::now();
  std::optional<ModelHost::Lease> model;
  {
    const DeadlineStop stop(run.context.stop(), run.deadline());
    auto acquired = parts_.models.acquire(
        [&](std::int64_t percent) { run.progress("loading", percent, 100); }, stop.token());
    if (run.context.stop().stop_requested()) return fail(ErrorCode::kCancelled, "cancelled");
    if (!acquired) {
      result.incomplete = stop.is_late() ? "the model was not loaded within the budget"
                                         : "by words alone: " + acquired.error().message;
      return {};
    }
    model.emplace(std::move(*acquired));
  }
  LoadedModel& loaded = **model;
  const auto ready = Clock::now();
  std::optional<Reuse> reuse;
  if (run.params.reuse && loaded.names && unfit_for_reuse(loaded.engine->spec()).empty()) {
    reuse = Reuse{.blocks = &parts_.blocks,
                  .model = loaded.names->model,
                  .context = loaded.names->context,
                  .neighbours = parts_.neighbours.find(loaded, run.repository->root().string()).end};
  }
  const auto wanted = static_cast<std::size_t>(run.params.read_files);
  ModelRanker ranker(parts_.engine_thread, loaded, std::move(reuse), {.files = wanted});
  if (parts_.engine_thread.load().running > 0) run.progress("queued", 0, 0);
  if (auto ranked = ranking.apply(ranker); !ranked) return ranked;
  const ModelRanker::Counts& counts = ranker.counts();
  result.model = loaded.engine->spec().name;
  result.model_files = counts.files;
  result.placed_tokens = counts.placed_tokens;
  result.computed_tokens = counts.computed_tokens;
  result.report_read = counts.report_read;
  result.report_tokens = counts.report_tokens;
  result.timings.queue_ms = ms_between(begin, ready);
  result.timings.model_ms = ms_between(ready, Clock::now());
  const auto files = static_cast<std::int64_t>(std::min(wanted, ranking.suspects().size()));
  if (counts.files < files && Clock::now() >= run.deadline()) {
    result.incomplete = "the budget was over when the model had read " + std::to_string(counts.files) +
                        " of " + std::to_string(files) + " files";
  }
  return {};
}

}  // namespace kvboost::daemon
