// SPDX-License-Identifier: Apache-2.0
#include "daemon/service.h"

#include <unistd.h>

#include <fstream>
#include <utility>

#include "base/log.h"

namespace kvboost::daemon {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kWorkers = 4;
// Editors and git write in many steps.
constexpr cache::WatchOptions kWatch = {.settle = std::chrono::seconds(1),
                                        .longest = std::chrono::seconds(10)};

/// The daemon waits this long for the next request before it tries what reuse does to the model.
constexpr std::chrono::seconds kIdleBeforeCheck(30);

engine::ComputeType compute_type(const std::string& name) {
  if (name == "bf16") return engine::ComputeType::kBFloat16;
  if (name == "f32") return engine::ComputeType::kFloat32;
  return engine::ComputeType::kAuto;
}

const char* name_of(engine::ComputeType type) {
  return type == engine::ComputeType::kBFloat16 ? "bf16" : "f32";
}

engine::EngineOptions engine_options(const Config& config) {
  engine::EngineOptions options;
  options.compute = compute_type(config.text("compute"));
  options.threads = static_cast<std::int32_t>(config.integer("threads"));
  options.context = static_cast<std::int32_t>(config.integer("context"));
  options.force_tokenizer = config.flag("force_tokenizer");
  return options;
}

cache::ChunkOptions chunk_options(const Config& config) {
  const std::string& chunking = config.text("chunking");
  cache::ChunkOptions options;
  if (chunking == "fixed") options.chunking = cache::Chunking::kFixed;
  if (chunking == "document") options.chunking = cache::Chunking::kDocument;
  options.fixed_tokens = static_cast<std::size_t>(config.integer("chunk_tokens"));
  options.boundary_window = static_cast<std::size_t>(config.integer("boundary_window"));
  return options;
}

ModelLimits model_limits(const Config& config) {
  return {static_cast<std::int32_t>(config.integer("live_sequences")), config.bytes("max_memory") / 2};
}

BlockCache::Options block_options(const Config& config, const std::filesystem::path& directory) {
  BlockCache::Options options;
  if (config.bytes("max_disk") > 0) options.directory = directory;
  options.max_memory = config.bytes("max_memory") / 2;
  options.disk = {config.bytes("max_disk"), config.bytes("min_free_disk")};
  options.codec = cache::parse_codec(config.text("codec")).value_or(cache::Codec::kBf16);
  return options;
}

ReuseChoice reuse_choice(const Config& config) {
  const std::string& text = config.text("reuse");
  if (text == "exact") return ReuseChoice::kExact;
  return text == "none" ? ReuseChoice::kUnrepaired : ReuseChoice::kAuto;
}

std::optional<std::filesystem::path> conversation_dir(const Config& config,
                                                      const std::filesystem::path& state) {
  if (!config.flag("save_conversations")) return std::nullopt;
  return state / "conversations";
}

std::uint64_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  std::uint64_t total = 0;
  std::uint64_t resident = 0;
  statm >> total >> resident;
  return resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

}  // namespace

Service::Service(Config config, Places places, ModelCatalog catalog, Server& server)
    : config_(std::move(config)),
      places_(std::move(places)),
      catalog_(std::move(catalog)),
      server_(server),
      repositories_({.max_file_bytes = config_.bytes("max_file_size"), .chunking = chunk_options(config_)},
                    [this](const auto& repository) {
                      if (follower_) follower_->served(repository);
                    }),
      conversations_(conversation_dir(config_, places_.state)),
      blocks_(block_options(config_, places_.cache)),
      fingerprints_(places_.state / "models"),
      manifest_(blocks_.store()),
      model_(config_.text("model")),
      engine_thread_("kv-engine", 1),
      models_(
          engine_thread_, [this] { return chosen_model(); }, engine_options(config_), model_limits(config_),
          [this](const auto& file, auto compute, const auto& stop) {
            return fingerprint(file, compute, stop);
          }),
      gate_({engine_thread_, models_, places_.state / "reuse", reuse_choice(config_),
             config_.number("reuse_tolerance")}),
      neighbours_({manifest_, gate_, config_.text("assembly") == "prefix-only"}),
      ask_({config_, workers_, engine_thread_, models_, repositories_, conversations_, blocks_, gate_,
            neighbours_, warmer_, metrics_}),
      complete_({config_, workers_, engine_thread_, models_, repositories_, blocks_, gate_, neighbours_,
                 metrics_, chunk_options(config_)}),
      generate_({workers_, engine_thread_, models_, metrics_}),
      locate_({workers_, engine_thread_, models_, repositories_, blocks_, neighbours_, metrics_}),
      search_({workers_, repositories_, metrics_}),
      warm_({workers_, models_, repositories_, warmer_, metrics_, [this] { return server_.is_leaving(); }}),
      cache_({workers_, models_, repositories_, blocks_, manifest_}),
      warmer_({.engine_thread = engine_thread_,
               .models = models_,
               .blocks = blocks_,
               .manifest = manifest_,
               .neighbours = neighbours_,
               .warmed =
                   [this](const auto& repository) {
                     if (follower_) follower_->warmed(repository);
                   }}),
      workers_("kv-worker", kWorkers),
      house_([this](const std::stop_token& stop) { keep_house(stop); }) {
  if (config_.flag("watch_files")) {
    follower_.emplace(Follower::Parts{workers_, models_, warmer_, manifest_}, kWatch);
  }
}

Service::~Service() {
  if (follower_) follower_->stop();
  engine_thread_.close();
  workers_.close();
}

void Service::start() {
  models_.prepare();
}

void Service::bind(Binder& binder) {
  using protocol::Nothing;
  binder.add<protocol::AskParams, protocol::AskResult>(
      "ask", RunOn::kIo, [this](auto context, auto params, auto reply) {
        ask_(std::move(context), std::move(params), std::move(reply));
      });
  binder.add<Nothing, protocol::StatusResult>(
      "status", RunOn::kIo, [this](const auto&, const auto&, auto reply) { reply(status()); });
  binder.add<Nothing, protocol::DoctorResult>(
      "doctor", RunOn::kIo, [this](auto context, const auto&, auto reply) {
        workers_.submit(Priority::kAsk, {.run = [this, context, reply] { reply(examine(context.stop())); },
                                         .drop = [reply](Error error) { reply(fail(std::move(error))); },
                                         .stop = context.stop()});
      });
  binder.add<protocol::ModelCheckParams, protocol::ModelCheckResult>(
      "model/check", RunOn::kWorker,
      [this](const auto& context, const auto& params, auto reply) { check_model(context, params, reply); });
  bind_models(binder);
  complete_.bind(binder);
  generate_.bind(binder);
  locate_.bind(binder);
  search_.bind(binder);
  warm_.bind(binder);
  cache_.bind(binder);
}

void Service::bind_models(Binder& binder) {
  using protocol::ModelInfoParams;
  using protocol::ModelInfoResult;
  binder.add<protocol::Nothing, protocol::ModelListResult>(
      "model/list", RunOn::kWorker, [this](const auto&, const auto&, auto reply) {
        reply(protocol::ModelListResult{catalog_.list(model_in_use())});
      });
  binder.add<ModelInfoParams, ModelInfoResult>("model/info", RunOn::kWorker,
                                               [this](const auto&, const auto& params, auto reply) {
                                                 reply(catalog_.info(params.model, model_in_use()));
                                               });
  binder.add<protocol::ModelAddParams, ModelInfoResult>(
      "model/add", RunOn::kWorker,
      [this](const auto&, const auto& params, auto reply) { reply(catalog_.add(params.path)); });
  binder.add<protocol::ModelUseParams, ModelInfoResult>(
      "model/use", RunOn::kWorker, [this](const auto&, const auto& params, auto reply) {
        auto used = catalog_.use(params.model, places_.config_file);
        if (used) {
          {
            const std::lock_guard lock(model_mutex_);
            model_ = used->entry.path;
          }
          models_.reload();
        }
        reply(used);
      });
}

void Service::check_model(const RequestContext& context, const protocol::ModelCheckParams& params,
                          const Reply<protocol::ModelCheckResult>& reply) {
  const auto progress = [&](double share) {
    context.notify("check/progress", protocol::CheckProgress{static_cast<std::int64_t>(share * 100)});
  };
  const auto verdict = gate_.check(params.again, progress, context.stop());
  if (!verdict) return reply(fail(verdict.error()));
  protocol::ModelCheckResult result;
  result.model = models_.snapshot().path.string();
  result.policy = repair_policy_name(verdict->behind_neighbours.policy);
  result.reason = verdict->behind_neighbours.reason;
  result.header_policy = repair_policy_name(verdict->behind_header.policy);
  result.header_reason = verdict->behind_header.reason;
  result.tolerance = config_.number("reuse_tolerance");
  for (const auto& [behind, trials] : verdict->trials) {
    for (const PolicyTrial& trial : trials) {
      result.trials.push_back({std::string(to_string(behind)), repair_policy_name(trial.policy),
                               trial.kl_mean, trial.kl_worst, trial.top1, trial.computed, trial.ratio,
                               gate_.passes(trial)});
    }
  }
  renew_all();
  reply(result);
}

Result<Digest> Service::fingerprint(const std::filesystem::path& file, engine::ComputeType compute,
                                    const std::stop_token& stop) {
  return fingerprints_.of(file,
                          {.dtype = name_of(compute),
                           .force_tokenizer = config_.flag("force_tokenizer"),
                           .block_format = cache::kRecordVersion},
                          stop);
}

Result<ChosenModel> Service::chosen_model() const {
  const std::lock_guard lock(model_mutex_);
  const Config::Value& started_with = config_.value("model");
  std::string told_by;
  if (started_with.origin == Origin::kFlag && model_ == started_with.text) {
    told_by = "the daemon was started with --model " + model_ +
              ": `kvboost daemon restart` forgets that, `kvboost model use NAME` takes another one";
  }
  auto path = catalog_.resolve(model_);
  if (!path) return fail(with_remedy(path.error(), told_by));
  return ChosenModel(std::move(*path), std::move(told_by));
}

std::filesystem::path Service::model_in_use() const {
  const auto chosen = chosen_model();
  return chosen ? chosen->path : std::filesystem::path();
}

protocol::StatusResult Service::status() const {
  const ModelHost::Snapshot model = models_.snapshot();
  protocol::StatusResult status;
  status.version = places_.version;
  status.build = places_.build;
  status.pid = ::getpid();
  status.uptime_s = std::chrono::duration<double>(Clock::now() - started_).count();
  status.queued = engine_thread_.load().queued + workers_.load().queued;
  // Those that are not answered yet, but for the one that asks: a job may go on for a moment after its
  // answer.
  status.running = std::max(0, server_.counts().running - 1 - status.queued);
  if (server_.is_leaving()) {
    status.state = "leaving";
  } else if (model.state == ModelHost::State::kLoading) {
    status.state = "loading";
  } else if (status.running > 0) {
    status.state = "busy";
  } else {
    status.state = model.state == ModelHost::State::kReady ? "ready" : "idle";
  }
  status.model = model.path.string();
  status.model_name = model.name;
  status.model_error = model.error;
  if (model.info) {
    status.compute = name_of(model.info->compute);
    status.compute_reason = model.info->compute_reason;
    status.threads = model.info->threads;
    status.context = model.info->context;
    status.load_seconds = model.info->load_seconds;
    status.weight_bytes = model.info->weight_bytes;
  }
  status.live_kv_bytes = model.live_bytes;
  status.live_sequences = model.live_sequences;
  status.tiers = tiers_of(blocks_);
  status.cached_kv_bytes = status.tiers.front().used;  // memory
  status.reuse = reuse_of(blocks_);
  if (model.names && model.spec) {
    const ReuseVerdict verdict = gate_.verdict(*model.spec, model.names->context);
    status.repair = repair_policy_name(verdict.behind_neighbours.policy);
    status.repair_reason = verdict.behind_neighbours.reason;
  }
  status.queue_bytes = blocks_.queued_bytes();
  status.warming = warmer_.state();
  for (const auto& repository : repositories_.known()) {
    const auto watched = follower_ ? follower_->state(repository->root()) : Follower::State{};
    status.repositories.push_back({repository->root().string(), repository->branch(), repository->head(),
                                   static_cast<std::int64_t>(watched.folders), watched.note});
  }
  status.resident_bytes = resident_bytes();
  status.connections = static_cast<std::int32_t>(server_.counts().connections);
  status.requests = metrics_.requests;
  status.prompt_tokens = metrics_.prompt_tokens;
  status.reused_tokens = metrics_.reused_tokens;
  status.cancelled = metrics_.cancelled;
  status.failed = metrics_.failed;
  status.socket = places_.socket.string();
  status.log_file = places_.log_file.string();
  status.http = places_.http;
  status.http_token_file = places_.http_token_file.string();
  return status;
}

protocol::DoctorResult Service::examine(const std::stop_token& stop) {
  const engine::EngineInfo cpu = engine::probe_cpu(compute_type(config_.text("compute")),
                                                   static_cast<std::int32_t>(config_.integer("threads")));
  protocol::DoctorResult result;
  result.checks.push_back(
      {"compute", "ok", std::string(name_of(cpu.compute)) + ": " + cpu.compute_reason, {}});
  const bool open_blas = cpu.blas.starts_with("OpenBLAS");
  result.checks.push_back(
      {"blas", open_blas ? "ok" : "warning", cpu.blas,
       open_blas ? "" : "install libopenblas0-openmp: other builds of BLAS are many times slower"});
  result.checks.push_back(
      {"kernels",
       "ok",
       cpu.kernels + ", " + std::to_string(cpu.threads) + (cpu.threads == 1 ? " thread" : " threads"),
       {}});
  result.checks.push_back(check_cache(blocks_));
  if (!places_.http.empty()) {
    result.checks.push_back(
        {"http", "ok", places_.http + ", token in " + places_.http_token_file.string(), {}});
  }
  auto model = models_.acquire({}, stop);
  if (model) {
    char seconds[32];
    std::snprintf(seconds, sizeof seconds, "%.2f", (*model)->engine->info().load_seconds);
    result.checks.push_back(
        {"model",
         "ok",
         (*model)->engine->spec().name + " from " + (*model)->path.string() + ", loaded in " + seconds + " s",
         {}});
  } else {
    result.checks.push_back({"model", "failed", model.error().message, model.error().remedy});
  }
  return result;
}

/// Once a model has been tried, blocks may be computed in another way.
void Service::renew_all() {
  const auto model = models_.acquire({}, {});
  if (!model) return;
  for (const auto& repository : repositories_.known()) warmer_.renew(repository, **model);
}

/// Tries a loaded model's reuse once, so that its requests find the verdict there.
void Service::check_when_new(const std::stop_token& stop) {
  const ModelHost::Snapshot model = models_.snapshot();
  if (model.state != ModelHost::State::kReady || !model.names || model.names->context == checked_) return;
  checked_ = model.names->context;
  const auto verdict = gate_.check(false, {}, stop);
  if (verdict) return renew_all();
  if (!stop.stop_requested()) log::warn("the model's reuse could not be tried: {}", verdict.error().text());
}

/// Unloads an idle model, tries a new one, and ends an idle daemon.
void Service::keep_house(const std::stop_token& stop) {
  const std::chrono::duration<double> idle_unload(config_.seconds("idle_unload"));
  // Who comes by HTTP cannot start the daemon again: it stays, unless its leaving is asked for.
  const bool stays = !places_.http.empty() && config_.value("idle_exit").origin == Origin::kDefault;
  const std::chrono::duration<double> idle_exit(stays ? 0 : config_.seconds("idle_exit"));
  std::mutex mutex;
  std::condition_variable_any changed;
  std::unique_lock lock(mutex);
  std::int64_t last_requests = metrics_.requests;
  auto last_active = Clock::now();
  while (!stop.stop_requested()) {
    auto next = Clock::now() + std::chrono::minutes(1);
    const auto now = Clock::now();
    if (const std::int64_t requests = metrics_.requests;
        requests != std::exchange(last_requests, requests) ||
        workers_.load().running + engine_thread_.load().running > 0 || !warmer_.state().root.empty()) {
      last_active = now;
    }
    if (now - last_active >= kIdleBeforeCheck) check_when_new(stop);
    if (idle_unload.count() > 0) next = std::min(next, models_.unload_if_idle(idle_unload));
    if (idle_exit.count() > 0) {
      const auto due = last_active + std::chrono::duration_cast<Clock::duration>(idle_exit);
      if (due <= now) {
        log::info("leaving: idle");
        server_.stop(StopMode::kDrain);
        return;
      }
      next = std::min(next, due);
    }
    changed.wait_until(lock, stop, next, [] { return false; });
  }
}

}  // namespace kvboost::daemon
