// SPDX-License-Identifier: Apache-2.0
// Service: the daemon's parts, built once and bound to the wire's methods. It owns the engine thread and the
// workers; its handlers run on the server's threads and hand their work on. Destroyed after the server has
// stopped.
#pragma once

#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "base/config.h"
#include "cache/key/model_fingerprint.h"
#include "cache/store/manifest.h"
#include "daemon/ask_handler.h"
#include "daemon/cache_handler.h"
#include "daemon/complete_handler.h"
#include "daemon/generate_handler.h"
#include "daemon/locate_handler.h"
#include "daemon/metrics.h"
#include "daemon/models/model_catalog.h"
#include "daemon/net/binder.h"
#include "daemon/net/server.h"
#include "daemon/pipeline/block_cache.h"
#include "daemon/pipeline/conversations.h"
#include "daemon/pipeline/follower.h"
#include "daemon/pipeline/model_host.h"
#include "daemon/pipeline/reuse_gate.h"
#include "daemon/pipeline/scheduler.h"
#include "daemon/pipeline/warmer.h"
#include "daemon/prompt/repositories.h"
#include "daemon/search_handler.h"
#include "daemon/warm_handler.h"

namespace kvboost::daemon {

class Service {
 public:
  /// Where the daemon lives, for `status` and for what it keeps.
  struct Places {
    std::filesystem::path socket;
    std::filesystem::path log_file;
    std::filesystem::path state;        // conversations go below it
    std::filesystem::path cache;        // stored chunks go below it
    std::filesystem::path config_file;  // the user's: `model use` writes there
    std::string version;
    std::string build;
    std::string http{};                       // "http://127.0.0.1:8012", or empty: it is off
    std::filesystem::path http_token_file{};  // or empty
  };

  /// `server` is asked to stop when the daemon has been idle for long, and for its counts.
  Service(Config config, Places places, ModelCatalog catalog, Server& server);
  ~Service();
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  void bind(Binder& binder);

  /// Loads the model, so that it is ready when the first request comes.
  void start();

 private:
  /// The file that the user's choice means now.
  [[nodiscard]] Result<ChosenModel> chosen_model() const;
  /// Empty if none can be chosen.
  [[nodiscard]] std::filesystem::path model_in_use() const;
  [[nodiscard]] Result<Digest> fingerprint(const std::filesystem::path& file, engine::ComputeType compute,
                                           const std::stop_token& stop);
  [[nodiscard]] protocol::StatusResult status() const;
  [[nodiscard]] protocol::DoctorResult examine(const std::stop_token& stop);
  void bind_models(Binder& binder);
  void check_model(const RequestContext& context, const protocol::ModelCheckParams& params,
                   const Reply<protocol::ModelCheckResult>& reply);
  void renew_all();
  void check_when_new(const std::stop_token& stop);
  void keep_house(const std::stop_token& stop);

  const Config config_;
  const Places places_;
  const ModelCatalog catalog_;
  Server& server_;
  const std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();

  Metrics metrics_;
  Repositories repositories_;
  Conversations conversations_;
  BlockCache blocks_;
  cache::ModelFingerprints fingerprints_;
  cache::Manifest manifest_;
  mutable std::mutex model_mutex_;
  std::string model_;  // as the user named it
  Scheduler engine_thread_;
  ModelHost models_;
  ReuseGate gate_;
  Neighbours neighbours_;
  AskHandler ask_;
  CompleteHandler complete_;
  GenerateHandler generate_;
  LocateHandler locate_;
  SearchHandler search_;
  WarmHandler warm_;
  CacheHandler cache_;
  std::optional<Follower> follower_;  // ends its work before that of the two below ends
  Warmer warmer_;                     // behind the handlers that it answers to
  Scheduler workers_;                 // behind what its jobs use
  Digest checked_;                    // the house's: context digest of the model that was tried last
  std::jthread house_;
};

}  // namespace kvboost::daemon
