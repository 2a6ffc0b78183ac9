// SPDX-License-Identifier: Apache-2.0
#include "daemon/pipeline/warm_pass.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <utility>

#include "cache/chunk/chunker.h"
#include "daemon/pipeline/either_stop.h"

namespace kvboost::daemon {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kRunsAhead = 2;

std::unexpected<Error> cancelled() {
  return fail(ErrorCode::kCancelled, "cancelled; what is done is kept");
}

}  // namespace

WarmPass::WarmPass(const Warmer::Parts& parts, const WarmRequest& request, Want want, std::stop_token stop)
    : parts_(parts), request_(request), want_(want), stop_(std::move(stop)) {}

WarmPass::~WarmPass() {
  (void)wait_for_runs(0);
}

Result<protocol::WarmResult> WarmPass::run() {
  const auto start = Clock::now();
  result_.root = request_.repository->root().string();
  result_.note = request_.repository->note();
  result_.dry_run = request_.dry_run;
  if (auto used = use_model(); !used) return fail(used.error());
  if (auto seen = survey(); !seen) return fail(seen.error());
  if (request_.dry_run) return std::move(result_);
  computing_since_ = Clock::now();
  bytes_before_ = parts_.blocks.counts().stored_bytes;
  auto computed = compute_all();
  if (auto waited = wait_for_runs(0); computed && !waited) computed = waited;
  if (!computed) return fail(computed.error());
  parts_.blocks.flush();
  report("warming", {});
  result_.computed_chunks = computed_chunks_;  // what it really was: files may have changed meanwhile
  result_.computed_tokens = computed_tokens_;
  result_.stored_bytes = progress_.bytes;
  result_.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  result_.tokens_per_second = progress_.tokens_per_second;
  return std::move(result_);
}

/// Holds the model for one file, so that another one can take its place in between.
Result<void> WarmPass::use_model() {
  lease_.reset();
  auto lease = parts_.models.acquire([&](std::int64_t) { report("waiting", {}); }, stop_);
  if (!lease) return fail(lease.error());
  const LoadedModel& model = **lease;
  if (!model.names) {
    return fail(ErrorCode::kModel, "nothing can be stored for this model; the daemon's log says why",
                "`kvboost daemon logs`");
  }
  if (names_ && names_->context != model.names->context) {
    return fail(ErrorCode::kBusy, "another model was chosen while this one's chunks were computed",
                "run it again");
  }
  names_ = model.names;
  Hasher hasher;
  for (const Digest& digest : {names_->context, cache::digest_of(request_.repository->chunks().options())}) {
    hasher.update(std::as_bytes(std::span(digest.bytes)));
  }
  manifest_context_ = hasher.finish();
  lease_ = std::make_shared<ModelHost::Lease>(std::move(*lease));
  return {};
}

Result<void> WarmPass::survey() {
  progress_.files = std::ssize(request_.files);
  for (const std::string& path : request_.files) {
    if (stop_.stop_requested()) return cancelled();
    report("reading", path);
    const auto file = cut(path);
    ++progress_.files_done;
    if (!file) {
      result_.skipped.push_back({path, "cannot be read any more"});
      continue;
    }
    ++result_.files;
    std::int64_t later = 0;
    bool missing = false;
    for (const BlockGroup& group : file->groups) {
      const Need need = need_of(group);
      result_.chunks += std::ssize(group) - static_cast<std::int64_t>(kFirstChunk);
      for (const BlockPart& part : group) result_.tokens += std::ssize(part.tokens);
      result_.computed_chunks += need.chunks;
      result_.computed_tokens += need.tokens;
      later += need.later;
      missing = missing || need.end > 0;
    }
    result_.later_chunks += later;
    if (later > 0) to_renew_.push_back(path);
    if (missing) {
      to_compute_.push_back(path);
    } else if (!request_.dry_run) {
      (void)parts_.manifest.put(result_.root, path, manifest_of(file->groups, file->text, manifest_context_));
    }
  }
  if (request_.whole_tree && !request_.dry_run) {
    (void)parts_.manifest.keep_only(result_.root, {request_.files.begin(), request_.files.end()});
  }
  return {};
}

Result<void> WarmPass::compute_all() {
  progress_.files = std::ssize(to_compute_);
  progress_.files_done = 0;
  progress_.tokens = result_.computed_tokens;
  for (const std::string& path : to_compute_) {
    if (auto used = use_model(); !used) return used;
    report("warming", path);
    if (disk_is_full()) {
      result_.skipped.push_back({path, "the cache has no more room: set a larger max_disk"});
    } else if (auto computed = compute(path); !computed) {
      return computed;
    }
    ++progress_.files_done;
  }
  return {};
}

Result<void> WarmPass::compute(const std::string& path) {
  const auto file = cut(path);
  if (!file) return {};  // removed meanwhile
  // First, so that its blocks count as referenced from the moment they are stored. That it fails costs them
  // their rank, no more.
  (void)parts_.manifest.put(result_.root, path, manifest_of(file->groups, file->text, manifest_context_));
  for (const BlockGroup& group : file->groups) {
    const Need need = need_of(group);
    if (need.end == 0) continue;
    if (auto waited = wait_for_runs(kRunsAhead - 1); !waited) return waited;
    if (stop_.stop_requested() || !parts_.blocks.wait_for_room(stop_)) return cancelled();
    report("warming", path);
    submit(std::make_shared<GroupRun>(group, need.end));
  }
  return {};
}

std::optional<WarmPass::Cut> WarmPass::cut(const std::string& path) const {
  const auto text = request_.repository->read(path);
  if (!text) return std::nullopt;
  const LoadedModel& model = **lease_;
  const EncodedFile file =
      cut_and_encode(model.engine->tokenizer(), path, *text, request_.repository->chunks().options());
  const auto context = static_cast<std::size_t>(model.engine->info().context);
  return Cut{group_blocks(file, path, model.chat, names_->context, context), sha256(*text)};
}

WarmPass::Need WarmPass::need_of(const BlockGroup& group) const {
  std::vector<Match> matches;
  Need need;
  for (const BlockPart& part : group) {
    matches.push_back(parts_.blocks.match(part.key));
    const bool missing =
        want_ == Want::kExact ? matches.back() != Match::kExact : matches.back() == Match::kMiss;
    // A new opening alone (the file was renamed) is no reason to compute at once.
    if (missing && matches.size() > kFirstChunk) need.end = matches.size();
  }
  for (std::size_t i = 0; i < group.size(); ++i) {
    if (matches[i] == Match::kExact) continue;
    const bool chunk = i >= kFirstChunk;
    if (i >= need.end) {
      need.later += chunk ? 1 : 0;
    } else {
      need.chunks += chunk ? 1 : 0;
      need.tokens += std::ssize(group[i].tokens);
    }
  }
  return need;
}

void WarmPass::submit(std::shared_ptr<GroupRun> run) {
  {
    const std::lock_guard lock(mutex_);
    ++running_;
  }
  run_on_engine(run, lease_);
}

/// Again and again until it is done: each more urgent job stops it.
void WarmPass::run_on_engine(const std::shared_ptr<GroupRun>& run,
                             const std::shared_ptr<ModelHost::Lease>& lease) {
  parts_.engine_thread.submit(Priority::kWarm,
                              {.run =
                                   [this, run, lease] {
                                     auto done = [&] {
                                       const auto preempted = parts_.engine_thread.watch(Priority::kWarm);
                                       const EitherStop stop(stop_, preempted.token());
                                       return run->run(**lease, parts_.blocks, stop.token());
                                     }();
                                     if (!done) return end_run(*run, fail(done.error()));
                                     if (*done) return end_run(*run, {});
                                     if (stop_.stop_requested()) return end_run(*run, cancelled());
                                     run_on_engine(run, lease);
                                   },
                               .drop = [this, run](Error error) { end_run(*run, fail(std::move(error))); },
                               .stop = {},
                               .is_request = false});
}

void WarmPass::end_run(const GroupRun& run, Result<void> outcome) {
  const std::lock_guard lock(mutex_);
  --running_;
  computed_chunks_ += run.computed_chunks();
  computed_tokens_ += run.computed_tokens();
  if (!outcome) outcome_ = std::move(outcome);
  changed_.notify_all();
}

/// Until at most `most` are in the engine's queue. Tells of the first failure.
Result<void> WarmPass::wait_for_runs(std::size_t most) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return running_ <= most; });
  return outcome_;
}

/// Whether this warm alone has filled the disk tier: to go on would evict what it began with.
bool WarmPass::disk_is_full() const {
  const auto stats = parts_.blocks.store().stats();
  return progress_.bytes > stats.back().limit / 100 * 95;
}

void WarmPass::report(const char* stage, const std::string& path) {
  progress_.stage = stage;
  progress_.path = path;
  if (progress_.stage == "warming") {
    const std::lock_guard lock(mutex_);
    progress_.tokens_done = computed_tokens_;
    progress_.bytes = parts_.blocks.counts().stored_bytes - bytes_before_;
    const std::chrono::duration<double> passed = Clock::now() - computing_since_;
    if (computed_tokens_ > 0) {
      progress_.tokens_per_second = static_cast<double>(computed_tokens_) / passed.count();
    }
  }
  if (request_.progress) request_.progress(progress_);
}

}  // namespace kvboost::daemon
