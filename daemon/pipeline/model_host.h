// SPDX-License-Identifier: Apache-2.0
// ModelHost: the one loaded model and its life: loaded on the engine thread when first wanted, warmed up
// before it is called ready, replaced on `use`, unloaded when idle. Any thread may call it; the engine inside
// a Lease is for the engine thread, its tokenizer and template for any.
#pragma once

#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>

#include "base/digest.h"
#include "base/error.h"
#include "daemon/pipeline/live_sequences.h"
#include "daemon/pipeline/scheduler.h"
#include "daemon/prompt/chat_template.h"
#include "engine/engine.h"

namespace kvboost::daemon {

/// What the blocks of a loaded model are named by (cache/key).
struct BlockNames {
  Digest model;    // fingerprint
  Digest context;  // with the header
};

struct LoadedModel {
  std::filesystem::path path;
  std::optional<BlockNames> names;  // none: nothing can be stored for it, and why is in the log
  std::unique_ptr<engine::Engine> engine;
  ChatTemplate chat;
  LiveSequences live;
  std::optional<engine::Sequence> header{};  // the header alone, read: for whoever computes blocks behind it
};

struct ModelLimits {
  std::int32_t live_sequences = 4;
  std::uint64_t live_bytes = 1ULL << 30;
};

/// The file of the model that is wanted.
struct ChosenModel {
  ChosenModel(std::filesystem::path file, std::string told_by = {})
      : path(std::move(file)), remedy(std::move(told_by)) {}
  std::filesystem::path path;
  std::string remedy;  // for errors: who chose it, and how to choose another one; may be empty
};

/// The error with one more line of remedy; an empty one adds nothing.
[[nodiscard]] Error with_remedy(Error error, std::string_view line);

class ModelHost {
 public:
  /// Finds the model that is wanted; called again for each load that is tried.
  using Locate = std::function<Result<ChosenModel>()>;

  /// The model's fingerprint, for its blocks' names. Called on the engine thread once it is loaded.
  using Fingerprint = std::function<Result<Digest>(const std::filesystem::path& model,
                                                   engine::ComputeType compute, std::stop_token stop)>;

  /// Keeps the model loaded while it lives. Must not outlive the host.
  class Lease {
   public:
    Lease(Lease&& other) noexcept;
    Lease& operator=(Lease&&) = delete;
    ~Lease();
    [[nodiscard]] LoadedModel& operator*() const { return *model_; }
    [[nodiscard]] LoadedModel* operator->() const { return model_; }

   private:
    friend class ModelHost;
    Lease(ModelHost* host, LoadedModel* model) : host_(host), model_(model) {}
    ModelHost* host_;
    LoadedModel* model_;
  };

  enum class State { kIdle, kLoading, kReady };

  /// What `status` shows.
  struct Snapshot {
    State state = State::kIdle;
    std::filesystem::path path;  // empty before the first load
    std::string name;
    std::string error;  // of the last load, empty when it succeeded
    std::optional<engine::EngineInfo> info;
    std::optional<BlockNames> names;  // of the model that is loaded, or was last
    std::optional<engine::ModelSpec> spec;
    std::uint64_t live_bytes = 0;
    std::int32_t live_sequences = 0;
  };

  /// `options.model` is ignored: `locate` says it.
  ModelHost(Scheduler& engine_thread, Locate locate, engine::EngineOptions options, ModelLimits limits,
            Fingerprint fingerprint = {});
  ~ModelHost();
  ModelHost(const ModelHost&) = delete;
  ModelHost& operator=(const ModelHost&) = delete;

  /// Says at once when there is no model that `acquire` could wait for: before work is done that needs one.
  [[nodiscard]] Result<void> check() const;

  /// Begins to load, if nothing is loaded. Errors show in the snapshot and to those who acquire.
  void prepare();

  /// Waits until the model is ready; `progress` gets 0..100 meanwhile. Not to be called on the engine thread.
  /// An earlier failure is tried anew.
  [[nodiscard]] Result<Lease> acquire(const std::function<void(std::int64_t)>& progress,
                                      std::stop_token stop);

  /// The next `acquire` asks `locate` again and loads what it says; requests under way finish with the old
  /// one.
  void reload();

  /// Unloads when nothing has used the model for `idle`. Returns when to look again.
  std::chrono::steady_clock::time_point unload_if_idle(std::chrono::duration<double> idle);

  /// Engine thread, while it holds a lease: refreshes what the snapshot says of live sequences.
  void note_live(const LoadedModel& model);

  [[nodiscard]] Snapshot snapshot() const;

 private:
  void start_load_locked(std::unique_lock<std::mutex>& lock);
  void load();
  void finish_load(Result<std::unique_ptr<LoadedModel>> loaded);
  void release();

  Scheduler* engine_thread_;
  Locate locate_;
  Fingerprint fingerprint_;
  engine::EngineOptions options_;
  ModelLimits limits_;

  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  std::unique_ptr<LoadedModel> model_;
  Snapshot snapshot_;
  std::optional<Error> error_;
  std::int64_t load_percent_ = 0;
  std::uint64_t loads_finished_ = 0;
  std::int32_t leases_ = 0;
  bool stale_ = false;  // `reload` was asked for
  std::chrono::steady_clock::time_point last_use_ = std::chrono::steady_clock::now();
  std::stop_source closing_;
};

}  // namespace kvboost::daemon
