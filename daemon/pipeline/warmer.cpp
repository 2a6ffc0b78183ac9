// SPDX-License-Identifier: Apache-2.0
#include "daemon/pipeline/warmer.h"

#include <pthread.h>

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "daemon/pipeline/either_stop.h"
#include "daemon/pipeline/engine_step.h"
#include "daemon/pipeline/group_run.h"
#include "daemon/pipeline/warm_pass.h"

namespace kvboost::daemon {
namespace {

constexpr std::size_t kServedKept = 64;
constexpr std::size_t kMostImprovements = 4;

}  // namespace

Warmer::Warmer(const Parts& parts) : parts_(parts) {
  thread_ = std::jthread([this](const std::stop_token& stop) {
    pthread_setname_np(pthread_self(), "kv-warm");
    work(stop);
  });
}

Warmer::~Warmer() {
  thread_.request_stop();
  thread_.join();
  for (const auto& waiting : waiting_) {
    waiting->on_stop.reset();
    waiting->done(fail(ErrorCode::kBusy, "the daemon is stopping", "try again in a moment"));
  }
}

void Warmer::submit(WarmRequest request, Done done) {
  const std::stop_token stop = request.stop;
  if (request.dry_run) {
    WarmPass pass(parts_, request, WarmPass::Want::kContent, stop);
    return done(pass.run());
  }
  const auto waiting = std::make_shared<Waiting>(std::move(request), std::move(done));
  {
    const std::lock_guard lock(mutex_);
    waiting_.push_back(waiting);
  }
  changed_.notify_all();
  // Armed when it is queued, so that a stop never goes unseen. One that was taken meanwhile is not found.
  waiting->on_stop.emplace(stop, [this, request = waiting.get()] { drop(request); });
}

void Warmer::drop(const Waiting* waiting) {
  std::shared_ptr<Waiting> dropped;
  {
    const std::lock_guard lock(mutex_);
    const auto found = std::ranges::find(waiting_, waiting, &std::shared_ptr<Waiting>::get);
    if (found == waiting_.end()) return;
    dropped = std::move(*found);
    waiting_.erase(found);
  }
  dropped->done(fail(ErrorCode::kCancelled, "cancelled before it began"));
}

void Warmer::work(const std::stop_token& stop) {
  for (;;) {
    std::shared_ptr<Waiting> next;
    std::optional<Renewal> renewal;
    std::optional<Improvement> improvement;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, stop,
                    [&] { return !waiting_.empty() || !renewals_.empty() || !improvements_.empty(); });
      if (stop.stop_requested()) return;
      if (!waiting_.empty()) {
        next = std::move(waiting_.front());
        waiting_.pop_front();
      } else if (!renewals_.empty()) {
        renewal.emplace(std::move(renewals_.front()));
        renewals_.pop_front();
        state_ = {renewal->repository->root().string(), 0, 1, 0};
      } else {
        improvement.emplace(std::move(improvements_.front()));
        improvements_.pop_front();
        improving_ = 1;
      }
    }
    if (next) {
      warm(*next, stop);
    } else if (renewal) {
      renew(*renewal, stop);
    } else {
      compute(*improvement, stop);
    }
    tidy();
    const std::lock_guard lock(mutex_);
    state_ = {};
    improving_ = 0;
  }
}

/// Once there is nothing else to do.
void Warmer::tidy() {
  ContentKeys contents;
  {
    const std::lock_guard lock(mutex_);
    if (!waiting_.empty() || !renewals_.empty()) return;
    contents.swap(computed_again_);
  }
  drop_old_variants(parts_.blocks.store(), contents);
}

void Warmer::warm(Waiting& waiting, const std::stop_token& stop) {
  const EitherStop either(stop, waiting.request.stop);
  WarmRequest& request = waiting.request;
  request.progress = [this, wanted = std::move(request.progress),
                      root = request.repository->root().string()](const protocol::WarmProgress& progress) {
    {
      const std::lock_guard lock(mutex_);
      state_ = {root, progress.files_done, progress.files, progress.tokens_per_second};
    }
    if (wanted) wanted(progress);
  };
  WarmPass pass(parts_, request, WarmPass::Want::kContent, either.token());
  auto result = pass.run();
  push_renewals(request.repository, pass.to_renew());
  {
    const std::lock_guard lock(mutex_);
    computed_again_.insert(pass.computed_again().begin(), pass.computed_again().end());
  }
  if (parts_.warmed) parts_.warmed(request.repository);
  waiting.done(std::move(result));
}

void Warmer::push_renewals(const std::shared_ptr<Repository>& repository,
                           const std::set<std::string>& paths) {
  const std::lock_guard lock(mutex_);
  std::set<std::string> known;
  for (const Renewal& renewal : renewals_) {
    if (renewal.repository->root() == repository->root()) known.insert(renewal.path);
  }
  for (const std::string& path : paths) {
    if (!known.contains(path)) renewals_.push_back({repository, path});
  }
}

void Warmer::renew(const std::shared_ptr<Repository>& repository, const LoadedModel& model) {
  const NeighbourRun neighbours = parts_.neighbours.choose(model, *repository);
  if (neighbours.tokens.empty()) return;
  const Digest before =
      blocks_context(model.names->context, static_cast<std::size_t>(model.engine->info().context),
                     repository->chunks().options(), {});
  std::set<std::string> paths;
  const auto read = parts_.manifest.for_each(repository->root().string(),
                                             [&](const std::string& path, const cache::ManifestFile& file) {
                                               if (file.context == before && !neighbours.paths.contains(path))
                                                 paths.insert(path);
                                             });
  if (!read) return log::warn("the cache's manifest cannot be read: {}", read.error().message);
  push_renewals(repository, paths);
  changed_.notify_all();
}

/// Computes a file's blocks anew behind what stands before them now. A warm that is asked for comes first.
void Warmer::renew(const Renewal& renewal, const std::stop_token& stop) {
  const WarmRequest request{.repository = renewal.repository, .files = {renewal.path}};
  WarmPass pass(parts_, request, WarmPass::Want::kExact, stop);
  if (const auto result = pass.run(); !result && result.error().code != ErrorCode::kCancelled) {
    log::warn("{} is not renewed in the cache: {}", renewal.path, result.error().text());
  }
  const std::lock_guard lock(mutex_);
  computed_again_.insert(pass.computed_again().begin(), pass.computed_again().end());
}

void Warmer::improve(const Digest& context, BlockGroup prompt) {
  if (prompt.empty()) return;
  {
    const std::lock_guard lock(mutex_);
    const Digest end = prompt.back().key.prefix;
    if (std::ranges::find(served_, end) == served_.end()) {
      served_.push_back(end);
      if (served_.size() > kServedKept) served_.pop_front();
      return;
    }
    const bool known = std::ranges::any_of(improvements_, [&](const Improvement& improvement) {
      return improvement.prompt.back().key.prefix == end;
    });
    if (known || improvements_.size() == kMostImprovements) return;
    improvements_.push_back({context, std::move(prompt)});
  }
  changed_.notify_all();
}

void Warmer::compute(const Improvement& improvement, const std::stop_token& stop) {
  auto model = parts_.models.acquire({}, stop);
  if (!model || !(*model)->names || (*model)->names->context != improvement.context) return;
  GroupRun run(improvement.prompt, improvement.prompt.size());
  while (!stop.stop_requested()) {
    const auto done = engine_step(parts_.engine_thread, Priority::kWarm, stop,
                                  [&](const auto& token) { return run.run(**model, parts_.blocks, token); });
    if (!done) log::warn("a prompt's blocks are not improved: {}", done.error().text());
    if (!done || *done) return;
  }
}

protocol::WarmingState Warmer::state() const {
  const std::lock_guard lock(mutex_);
  return state_;
}

std::size_t Warmer::to_renew() const {
  const std::lock_guard lock(mutex_);
  return renewals_.size();
}

std::size_t Warmer::to_improve() const {
  const std::lock_guard lock(mutex_);
  return improvements_.size() + improving_;
}

}  // namespace kvboost::daemon
