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
constexpr std::size_t kMostCutBytes = 64'000'000;  // files beyond that are cut again when their turn comes
constexpr auto kReportPause = std::chrono::milliseconds(50);

std::size_t size_of(const std::vector<BlockGroup>& groups) {
  std::size_t bytes = 0;
  for (const BlockGroup& group : groups) {
    for (const BlockPart& part : group) {
      bytes += sizeof(part) + part.tokens.size() * sizeof(engine::TokenId);
    }
  }
  return bytes;
}

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
  if (auto used = use_model(); !used) return fail(used.error());
  if (auto seen = survey(); !seen) return fail(seen.error());
  if (request_.dry_run) return std::move(result_);
  if (result_.computed_tokens >= parts_.worth_a_trial && try_model()) {
    if (auto used = use_model(); !used) return fail(used.error());
    if (auto seen = survey(); !seen) return fail(seen.error());
  }
  computing_since_ = Clock::now();
  counts_before_ = parts_.blocks.counts();
  auto computed = compute_all();
  if (auto waited = wait_for_runs(0); computed && !waited) computed = waited;
  if (!computed) return fail(computed.error());
  parts_.blocks.flush();
  report("warming", {});
  report_now();
  result_.computed_chunks = computed_chunks_;  // what it really was: files may have changed meanwhile
  result_.computed_tokens = computed_tokens_;
  result_.stored_bytes = progress_.bytes;
  result_.refused_bytes = parts_.blocks.counts().refused_bytes - counts_before_.refused_bytes;
  if (result_.refused_bytes > 0) result_.refusal = parts_.blocks.last_refusal();
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
  neighbours_ = request_.dry_run ? parts_.neighbours.find(model, request_.repository->root().string())
                                 : parts_.neighbours.choose(model, *request_.repository);
  const auto context_with = [&](const Digest& neighbours) {
    return blocks_context(names_->context, static_cast<std::size_t>(model.engine->info().context),
                          request_.repository->chunks().options(), neighbours);
  };
  context_ = context_with(neighbours_.end);
  plain_context_ = context_with({});
  lease_ = std::make_shared<ModelHost::Lease>(std::move(*lease));
  return {};
}

Result<void> WarmPass::survey() {
  result_ = {};
  result_.root = request_.repository->root().string();
  result_.note = request_.repository->note();
  result_.dry_run = request_.dry_run;
  missing_.clear();
  cut_bytes_ = 0;
  to_renew_.clear();
  progress_.files = std::ssize(request_.files);
  progress_.files_done = 0;
  for (const std::string& path : request_.files) {
    if (stop_.stop_requested()) return cancelled();
    report("reading", path);
    if (const auto text = request_.repository->read(path)) {
      survey(path, *text);
    } else {
      result_.skipped.push_back({path, "cannot be read any more"});
    }
    ++progress_.files_done;
  }
  if (request_.whole_tree && !request_.dry_run) {
    (void)parts_.manifest.keep_only(result_.root, {request_.files.begin(), request_.files.end()});
  }
  return {};
}

void WarmPass::survey(const std::string& path, const std::string& text) {
  const Digest digest = sha256(text);
  auto file = known(path, digest);
  Missing missing{.path = path};
  if (!file) {
    missing.cut = cut(path, text, digest);
    file = kept(path, *missing.cut);
  }
  const Need need = need_of(*file);
  ++result_.files;
  for (const cache::ManifestChunk& part : file->chunks) {
    result_.chunks += is_opening(part) ? 0 : 1;
    result_.tokens += part.tokens;
  }
  result_.computed_chunks += need.chunks;
  result_.computed_tokens += need.tokens;
  result_.later_chunks += need.later;
  if (need.later > 0) to_renew_.insert(path);
  const bool nothing_missing = std::ranges::all_of(need.ends, [](std::size_t end) { return end == 0; });
  if (request_.dry_run) return;
  if (nothing_missing) {
    if (missing.cut) (void)parts_.manifest.put(result_.root, path, *file);
    return;
  }
  missing.tokens = need.tokens;
  if (missing.cut) {
    cut_bytes_ += size_of(missing.cut->groups);
    if (cut_bytes_ > kMostCutBytes) missing.cut.reset();
  }
  missing_.push_back(std::move(missing));
}

/// Whether that was done now: blocks may be computed in another way from now on.
bool WarmPass::try_model() {
  const auto progress = [this](double share) {
    progress_.percent = static_cast<std::int64_t>(share * 100);
    report("trying", {});
  };
  if (!parts_.neighbours.is_untried(**lease_)) return false;
  lease_.reset();
  return parts_.neighbours.try_model(progress, stop_);
}

Result<void> WarmPass::compute_all() {
  progress_.files = std::ssize(missing_);
  progress_.files_done = 0;
  progress_.tokens = result_.computed_tokens;
  for (Missing& file : missing_) {
    if (auto used = use_model(); !used) return used;
    report("warming", file.path);
    if (!neighbours_.tokens.empty()) store_header();
    if (disk_is_full()) {
      result_.skipped.push_back({file.path, "the cache has no more room: set a larger max_disk"});
    } else if (auto computed = compute(file); !computed) {
      return computed;
    }
    ++progress_.files_done;
  }
  return {};
}

/// The file as it is now. Less may be missing of it than was when it was looked at, where other files have
/// the same content.
Result<void> WarmPass::compute(Missing& file) {
  const auto text = request_.repository->read(file.path);
  if (!text) return {};  // removed meanwhile
  const Digest digest = sha256(*text);
  Cut now = file.cut && file.cut->text == digest ? std::move(*file.cut) : cut(file.path, *text, digest);
  file.cut.reset();
  const cache::ManifestFile kept_file = kept(file.path, now);
  const Need need = need_of(kept_file);
  progress_.tokens += need.tokens - file.tokens;
  if (need.later > 0) to_renew_.insert(file.path);
  computed_again_.insert(need.again.begin(), need.again.end());
  // First, so that its blocks count as referenced from the moment they are stored. That it fails costs them
  // their rank, no more.
  (void)parts_.manifest.put(result_.root, file.path, kept_file);
  for (std::size_t i = 0; i < now.groups.size(); ++i) {
    if (need.ends[i] == 0) continue;
    if (auto waited = wait_for_runs(kRunsAhead - 1); !waited) return waited;
    if (stop_.stop_requested() || !parts_.blocks.wait_for_room(stop_)) return cancelled();
    report("warming", file.path);
    submit(std::move(now.groups[i]), need.ends[i]);
  }
  return {};
}

/// Prompts begin with the header alone, which is in no group then.
void WarmPass::store_header() {
  const auto tokens = (*lease_)->chat.header();
  const cache::ChunkKey key = cache::KeyChain(names_->context).next(tokens);
  if (!parts_.blocks.has(key.prefix) && !submitted_.contains(key.content)) submit({{tokens, key, {}}}, 1);
}

WarmPass::Cut WarmPass::cut(const std::string& path, const std::string& text, const Digest& digest) const {
  const LoadedModel& model = **lease_;
  const EncodedFile file =
      cut_and_encode(model.engine->tokenizer(), path, text, request_.repository->chunks().options());
  const auto context = static_cast<std::size_t>(model.engine->info().context);
  const auto neighbours =
      has_neighbours(path) ? std::span(neighbours_.tokens) : std::span<const engine::TokenId>();
  return Cut{digest, group_blocks(file, path, model.chat, names_->context, context, neighbours)};
}

std::optional<cache::ManifestFile> WarmPass::known(const std::string& path, const Digest& text) const {
  auto file = parts_.manifest.find(result_.root, path);
  if (!file || !*file || (*file)->text != text ||
      (*file)->context != (has_neighbours(path) ? context_ : plain_context_))
    return std::nullopt;
  return std::move(*file);
}

/// The header is in no count: it is computed once a model.
WarmPass::Need WarmPass::need_of(const cache::ManifestFile& file) const {
  Need need;
  for (const KeptGroup group : kept_groups(file)) {
    std::vector<Match> matches;
    for (const cache::ManifestChunk& part : group) {
      Match& match = matches.emplace_back(parts_.blocks.match({part.content, part.prefix}));
      if (match == Match::kMiss && submitted_.contains(part.content)) match = Match::kApproximate;
    }
    const std::size_t end = end_of_need(group, matches);
    need.ends.push_back(end == 0 ? 0 : end + 1);  // behind the header
    for (std::size_t i = 0; i < group.size(); ++i) {
      if (matches[i] == Match::kExact) continue;
      const bool chunk = !is_opening(group[i]);
      if (i >= end) {
        need.later += chunk ? 1 : 0;
      } else {
        need.chunks += chunk ? 1 : 0;
        need.tokens += group[i].tokens;
        if (matches[i] == Match::kApproximate) need.again.push_back(group[i].content);
      }
    }
  }
  return need;
}

std::size_t WarmPass::end_of_need(KeptGroup group, std::span<const Match> matches) const {
  std::size_t end = 0;
  for (std::size_t i = 0; i < group.size(); ++i) {
    // A new opening alone (the file was renamed) is no reason to compute at once.
    if (is_opening(group[i])) continue;
    const bool missing = want_ == Want::kExact ? matches[i] != Match::kExact : matches[i] == Match::kMiss;
    if (missing) end = i + 1;
  }
  return end;
}

void WarmPass::submit(BlockGroup group, std::size_t end) {
  for (std::size_t i = 0; i < end; ++i) submitted_.insert(group[i].key.content);
  {
    const std::lock_guard lock(mutex_);
    ++running_;
  }
  const auto tell = [this](std::int64_t chunks, std::int64_t tokens) {
    const std::lock_guard lock(mutex_);
    computed_chunks_ += chunks;
    computed_tokens_ += tokens;
    changed_.notify_all();
  };
  run_on_engine(std::make_shared<GroupRun>(std::move(group), end, tell), lease_);
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
                                     if (!done) return end_run(fail(done.error()));
                                     if (*done) return end_run({});
                                     if (stop_.stop_requested()) return end_run(cancelled());
                                     run_on_engine(run, lease);
                                   },
                               .drop = [this](Error error) { end_run(fail(std::move(error))); },
                               .stop = {},
                               .is_request = false});
}

void WarmPass::end_run(Result<void> outcome) {
  const std::lock_guard lock(mutex_);
  --running_;
  if (!outcome) outcome_ = std::move(outcome);
  changed_.notify_all();
}

/// Until at most `most` are in the engine's queue, and tells how far they are. Gives the first failure.
Result<void> WarmPass::wait_for_runs(std::size_t most) {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return running_ <= most || computed_tokens_ > progress_.tokens_done; });
    if (running_ <= most) return outcome_;
    lock.unlock();
    report("warming", progress_.path);
    lock.lock();
  }
}

/// Whether this warm alone has filled the disk tier: to go on would evict what it began with.
bool WarmPass::disk_is_full() const {
  const std::uint64_t most = parts_.blocks.store().stats().back().limit / 100 * 95;
  const auto stored = [&] { return parts_.blocks.counts().stored_bytes - counts_before_.stored_bytes; };
  if (stored() + parts_.blocks.queued_bytes() <= most) return false;
  parts_.blocks.flush();
  return stored() > most;
}

void WarmPass::report(const char* stage, const std::string& path) {
  const bool begins = progress_.stage != stage;
  progress_.stage = stage;
  progress_.path = path;
  if (progress_.stage == "warming") {
    const std::lock_guard lock(mutex_);
    progress_.tokens_done = computed_tokens_;
    progress_.bytes = parts_.blocks.counts().stored_bytes - counts_before_.stored_bytes;
    const std::chrono::duration<double> passed = Clock::now() - computing_since_;
    if (computed_tokens_ > 0) {
      progress_.tokens_per_second = static_cast<double>(computed_tokens_) / passed.count();
    }
  }
  if (begins || Clock::now() - reported_ >= kReportPause) report_now();
}

void WarmPass::report_now() {
  reported_ = Clock::now();
  if (request_.progress) request_.progress(progress_);
}

}  // namespace kvboost::daemon
