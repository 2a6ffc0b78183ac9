// SPDX-License-Identifier: Apache-2.0
#include "daemon/pipeline/model_host.h"

#include <utility>

#include "base/log.h"
#include "cache/key/chunk_key.h"

namespace kvboost::daemon {
namespace {

using Clock = std::chrono::steady_clock;

/// Touches every weight and warms the allocator and the kernels' caches, so that the first request is as
/// quick as the tenth.
Result<void> warm_up(LoadedModel& model) {
  auto sequence = model.engine->new_sequence();
  if (!sequence) return fail(sequence.error());
  if (auto read = model.engine->prefill(*sequence, model.chat.header()); !read) return read;
  engine::GenerateParams params;
  params.max_tokens = 1;
  if (auto made = model.engine->generate(*sequence, params, {}); !made) return fail(made.error());
  return {};
}

/// The error with the file in its message, wherever in the file the trouble was.
Error naming(const std::filesystem::path& model, Error error) {
  if (error.message.find(model.filename().string()) == std::string::npos) {
    error.message = model.string() + ": " + error.message;
  }
  return error;
}

std::optional<BlockNames> block_names(const ModelHost::Fingerprint& fingerprint, const LoadedModel& model,
                                      const std::stop_token& stop) {
  if (!fingerprint) return std::nullopt;
  const auto digest = fingerprint(model.path, model.engine->info().compute, stop);
  if (!digest) {
    log::warn("no KV is stored for {}: {}", model.path.string(), digest.error().text());
    return std::nullopt;
  }
  return BlockNames{*digest, cache::key_context(*digest, model.chat.header())};
}

Result<std::unique_ptr<LoadedModel>> load_model(const engine::EngineOptions& options,
                                                const ModelLimits& limits,
                                                const ModelHost::Fingerprint& fingerprint,
                                                const std::function<void(double)>& progress,
                                                std::stop_token stop) {
  auto engine = engine::Engine::load(options, progress, stop);
  if (!engine) return fail(naming(options.model, engine.error()));
  engine::Engine& loaded = **engine;
  auto model = std::make_unique<LoadedModel>(
      LoadedModel{options.model, std::nullopt, std::move(*engine),
                  ChatTemplate::detect(loaded.tokenizer(), loaded.info().context),
                  LiveSequences(loaded, limits.live_sequences, limits.live_bytes)});
  if (auto warm = warm_up(*model); !warm) return fail(warm.error());
  model->names = block_names(fingerprint, *model, stop);
  return model;
}

}  // namespace

Error with_remedy(Error error, std::string_view line) {
  if (!error.remedy.empty() && !line.empty()) error.remedy += '\n';
  error.remedy += line;
  return error;
}

ModelHost::Lease::Lease(Lease&& other) noexcept
    : host_(std::exchange(other.host_, nullptr)), model_(other.model_) {}

ModelHost::Lease::~Lease() {
  if (host_ != nullptr) host_->release();
}

ModelHost::ModelHost(Scheduler& engine_thread, Locate locate, engine::EngineOptions options,
                     ModelLimits limits, Fingerprint fingerprint)
    : engine_thread_(&engine_thread),
      locate_(std::move(locate)),
      fingerprint_(std::move(fingerprint)),
      options_(std::move(options)),
      limits_(limits) {}

ModelHost::~ModelHost() {
  closing_.request_stop();
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return snapshot_.state != State::kLoading && leases_ == 0; });
}

Result<void> ModelHost::check() const {
  {
    const std::lock_guard lock(mutex_);
    if (model_ != nullptr) return {};
  }
  if (const auto chosen = locate_(); !chosen) return fail(chosen.error());
  return {};
}

void ModelHost::prepare() {
  std::unique_lock lock(mutex_);
  start_load_locked(lock);
}

Result<ModelHost::Lease> ModelHost::acquire(const std::function<void(std::int64_t)>& progress,
                                            std::stop_token stop) {
  std::unique_lock lock(mutex_);
  const std::uint64_t loads_before = loads_finished_;  // read first: a load may fail while it is submitted
  start_load_locked(lock);
  std::int64_t shown = -1;
  while (model_ == nullptr || stale_) {
    if (stop.stop_requested()) return fail(ErrorCode::kCancelled, "cancelled while the model was loading");
    if (loads_finished_ != loads_before && error_) return fail(*error_);
    if (std::exchange(shown, load_percent_) != load_percent_ && progress) {
      lock.unlock();
      progress(shown);
      lock.lock();
      continue;
    }
    changed_.wait(lock, stop, [&] {
      return (model_ != nullptr && !stale_) || loads_finished_ != loads_before || load_percent_ != shown;
    });
  }
  ++leases_;
  last_use_ = Clock::now();
  return Lease(this, model_.get());
}

void ModelHost::reload() {
  std::unique_lock lock(mutex_);
  stale_ = true;
  start_load_locked(lock);
}

void ModelHost::start_load_locked(std::unique_lock<std::mutex>& lock) {
  const bool wanted = model_ == nullptr || stale_;
  if (!wanted || leases_ > 0 || snapshot_.state == State::kLoading) return;
  snapshot_.state = State::kLoading;
  load_percent_ = 0;
  error_.reset();
  lock.unlock();  // submit may call drop at once
  engine_thread_->submit(Priority::kAsk,
                         {.run = [this] { load(); },
                          .drop = [this](Error error) { finish_load(fail(std::move(error))); },
                          .stop = closing_.get_token(),
                          .is_request = false});
  lock.lock();
}

void ModelHost::load() {
  std::unique_ptr<LoadedModel> old;
  {
    const std::lock_guard lock(mutex_);
    stale_ = false;
    old = std::move(model_);
  }
  old.reset();  // before the new one, so that both never share the memory
  const auto chosen = locate_();
  if (!chosen) return finish_load(fail(chosen.error()));
  engine::EngineOptions options = options_;
  options.model = chosen->path;
  {
    const std::lock_guard lock(mutex_);
    snapshot_.path = chosen->path;
  }
  auto loaded = load_model(
      options, limits_, fingerprint_,
      [this](double share) {
        const std::lock_guard lock(mutex_);
        load_percent_ = static_cast<std::int64_t>(share * 100);
        changed_.notify_all();
      },
      closing_.get_token());
  if (!loaded) loaded = fail(with_remedy(loaded.error(), chosen->remedy));
  finish_load(std::move(loaded));
}

void ModelHost::finish_load(Result<std::unique_ptr<LoadedModel>> loaded) {
  const std::lock_guard lock(mutex_);
  ++loads_finished_;
  snapshot_.live_bytes = 0;
  snapshot_.live_sequences = 0;
  if (loaded) {
    model_ = std::move(*loaded);
    snapshot_.state = State::kReady;
    snapshot_.name = model_->engine->spec().name;
    snapshot_.error.clear();
    snapshot_.info = model_->engine->info();
    snapshot_.names = model_->names;
    snapshot_.spec = model_->engine->spec();
    last_use_ = Clock::now();
    log::info("loaded {} in {:.2f} s", model_->path.string(), snapshot_.info->load_seconds);
  } else {
    error_ = loaded.error();
    snapshot_.state = State::kIdle;
    snapshot_.error = error_->text();
    snapshot_.info.reset();
    if (error_->code != ErrorCode::kCancelled) log::error("no model: {}", error_->text());
  }
  changed_.notify_all();
}

void ModelHost::release() {
  std::unique_lock lock(mutex_);
  last_use_ = Clock::now();
  --leases_;
  if (stale_ && !closing_.stop_requested()) start_load_locked(lock);
  changed_.notify_all();
}

std::chrono::steady_clock::time_point ModelHost::unload_if_idle(std::chrono::duration<double> idle) {
  const auto due = [this, idle] { return last_use_ + std::chrono::duration_cast<Clock::duration>(idle); };
  {
    const std::lock_guard lock(mutex_);
    if (model_ == nullptr || leases_ > 0)
      return Clock::now() + std::chrono::duration_cast<Clock::duration>(idle);
    if (due() > Clock::now()) return due();
  }
  engine_thread_->submit(Priority::kWarm, {.run =
                                               [this, due] {
                                                 std::unique_ptr<LoadedModel> old;
                                                 const std::lock_guard lock(mutex_);
                                                 if (leases_ > 0 || due() > Clock::now()) return;
                                                 old = std::move(model_);
                                                 snapshot_.state = State::kIdle;
                                                 snapshot_.live_bytes = 0;
                                                 snapshot_.live_sequences = 0;
                                                 snapshot_.info.reset();
                                                 log::info("unloaded the model: idle");
                                               },
                                           .drop = [](const Error&) {},
                                           .stop = closing_.get_token(),
                                           .is_request = false});
  return Clock::now() + std::chrono::duration_cast<Clock::duration>(idle);
}

void ModelHost::note_live(const LoadedModel& model) {
  const std::lock_guard lock(mutex_);
  snapshot_.live_bytes = model.live.bytes();
  snapshot_.live_sequences = model.live.count();
}

ModelHost::Snapshot ModelHost::snapshot() const {
  const std::lock_guard lock(mutex_);
  return snapshot_;
}

}  // namespace kvboost::daemon
