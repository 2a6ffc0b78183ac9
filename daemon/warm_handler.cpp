// SPDX-License-Identifier: Apache-2.0
#include "daemon/warm_handler.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/path_set.h"
#include "cache/track/changes.h"
#include "daemon/prompt/named_paths.h"

namespace kvboost::daemon {
namespace {

using protocol::WarmParams;
using protocol::WarmProgress;
using protocol::WarmResult;

/// Files and folders, the latter with everything in them. Paths are relative to one root.
class PathSet {
 public:
  /// Folders with or without '/' at their end, "" for all.
  explicit PathSet(const std::vector<std::string>& paths) {
    for (const std::string& path : paths) {
      paths_.insert(path.ends_with('/') ? path.substr(0, path.size() - 1) : path);
    }
  }

  [[nodiscard]] bool holds(std::string path) const {
    if (path.ends_with('/')) path.pop_back();
    return kvboost::holds(paths_, std::move(path));
  }

 private:
  std::set<std::string> paths_;
};

/// What the request narrows the work tree to, each on its own.
Result<std::vector<PathSet>> limits_of(const Repository& repository, const WarmParams& params,
                                       const std::stop_token& stop) {
  std::vector<PathSet> limits;
  if (!params.paths.empty()) {
    std::vector<std::string> named;
    for (const std::string& given : params.paths) {
      auto path = path_in_root(repository.root(), given, params.directory);
      if (!path) return fail(path.error());
      named.push_back(std::move(*path));
    }
    limits.emplace_back(named);
  }
  if (params.changed || !params.since.empty()) {
    auto changed = params.changed ? cache::changed_since_head(repository.root(), stop)
                                  : cache::changed_since(repository.root(), params.since, stop);
    if (!changed) return fail(changed.error());
    limits.emplace_back(*changed);
  }
  return limits;
}

bool within(const std::vector<PathSet>& limits, const std::string& path) {
  return std::ranges::all_of(limits, [&](const PathSet& limit) { return limit.holds(path); });
}

}  // namespace

/// One request on its way from thread to thread.
struct WarmHandler::Run {
  RequestContext context;
  WarmParams params;
  Reply<WarmResult> reply;
  std::shared_ptr<Repository> repository{};
  std::vector<std::string> files{};
  WarmResult result{};      // what is known of it
  std::stop_source stop{};  // by the client, or because the daemon leaves
  std::optional<std::stop_callback<std::function<void()>>> on_cancel{};

  [[nodiscard]] bool whole_tree() const {
    return params.paths.empty() && !params.changed && params.since.empty();
  }
};

void WarmHandler::bind(Binder& binder) {
  binder.add<WarmParams, WarmResult>("warm", RunOn::kIo, [this](auto context, auto params, auto reply) {
    ++parts_.metrics.requests;
    if (!params.dry_run) parts_.models.prepare();  // loads while the repository is read
    const std::stop_token stop = context.stop();
    auto run = std::make_shared<Run>(std::move(context), std::move(params), std::move(reply));
    parts_.workers.submit(Priority::kWarm,
                          {.run = [this, run] { choose_on_worker(run); },
                           .drop = [this, run](Error error) { end(*run, fail(std::move(error))); },
                           .stop = stop});
  });
  using protocol::SkippedParams;
  using protocol::SkippedResult;
  binder.add<SkippedParams, SkippedResult>(
      "skipped", RunOn::kIo, [this](auto context, auto params, auto reply) {
        parts_.workers.submit(
            Priority::kAsk,
            {.run = [this, context, params, reply] { reply(skipped(params.directory, context.stop())); },
             .drop = [reply](Error error) { reply(fail(std::move(error))); },
             .stop = context.stop()});
      });
}

void WarmHandler::choose_on_worker(const std::shared_ptr<Run>& run) {
  if (const auto chosen = choose(*run); !chosen) return end(*run, fail(chosen.error()));
  warm(run);
}

Result<void> WarmHandler::choose(Run& run) {
  if (run.params.changed && !run.params.since.empty()) {
    return fail(ErrorCode::kInvalidArgument, "fields 'changed' and 'since' exclude each other");
  }
  const std::stop_token stop = run.context.stop();
  auto repository = parts_.repositories.open(run.params.directory);
  if (!repository) return fail(repository.error());
  run.repository = std::move(*repository);
  const auto fresh = run.repository->refresh(stop, [&](std::int64_t done, std::int64_t total) {
    run.context.notify("warm/progress",
                       WarmProgress{.stage = "reading", .path = {}, .files_done = done, .files = total});
  });
  if (!fresh) return fail(fresh.error());
  const auto limits = limits_of(*run.repository, run.params, stop);
  if (!limits) return fail(limits.error());
  auto files = run.params.paths.empty()
                   ? run.repository->files()
                   : resolve_paths(*run.repository, run.params.paths, run.params.directory);
  if (!files) return fail(files.error());
  for (std::string& file : *files) {
    if (within(*limits, file)) run.files.push_back(std::move(file));
  }
  for (const cache::SkippedFile& file : run.repository->skipped()) {
    if (within(*limits, file.path)) run.result.skipped.push_back({file.path, file.reason});
  }
  run.result.root = run.repository->root().string();
  run.result.note = run.repository->note();
  run.result.files = static_cast<std::int64_t>(run.files.size());
  run.result.background = run.params.background;
  run.result.dry_run = run.params.dry_run;
  return {};
}

void WarmHandler::warm(const std::shared_ptr<Run>& run) {
  WarmRequest request{.repository = run->repository,
                      .files = std::move(run->files),
                      .whole_tree = run->whole_tree(),
                      .dry_run = run->params.dry_run};
  const auto tell = [run](const WarmProgress& progress) { run->context.notify("warm/progress", progress); };
  tell({.stage = "waiting", .path = {}, .files = run->result.files});
  request.stop = run->stop.get_token();
  request.progress = [this, run, tell](const WarmProgress& progress) {
    if (parts_.leaving()) run->stop.request_stop();
    tell(progress);
  };
  if (run->params.background) {
    parts_.warmer.submit(std::move(request), [](const auto&) {});
    return end(*run, run->result);
  }
  run->on_cancel.emplace(run->context.stop(), [run = run.get()] { run->stop.request_stop(); });
  parts_.warmer.submit(std::move(request), [this, run](Result<WarmResult> warmed) {
    if (!warmed) return end(*run, fail(warmed.error()));
    warmed->skipped.insert(warmed->skipped.begin(), run->result.skipped.begin(), run->result.skipped.end());
    end(*run, warmed);
  });
}

void WarmHandler::end(const Run& run, const Result<WarmResult>& outcome) {
  if (outcome) return run.reply(outcome);
  parts_.metrics.count(outcome.error());
  if (outcome.error().code == ErrorCode::kCancelled && !run.context.stop().stop_requested()) {
    return run.reply(fail(ErrorCode::kBusy, "the daemon is leaving; what is computed is kept",
                          "`kvboost warm` goes on from there"));
  }
  run.reply(outcome);
}

Result<protocol::SkippedResult> WarmHandler::skipped(const std::string& directory,
                                                     const std::stop_token& stop) {
  const auto repository = parts_.repositories.open(directory);
  if (!repository) return fail(repository.error());
  const auto fresh = (*repository)->refresh(stop);
  if (!fresh) return fail(fresh.error());
  protocol::SkippedResult result;
  result.root = (*repository)->root().string();
  result.note = (*repository)->note();
  for (const cache::SkippedFile& file : (*repository)->skipped()) {
    result.skipped.push_back({file.path, file.reason});
  }
  return result;
}

}  // namespace kvboost::daemon
