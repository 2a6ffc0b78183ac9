// SPDX-License-Identifier: Apache-2.0
// Follower: watches the work trees that requests were about, as far as their files were warmed, and has the
// warmer catch up after an edit, when nothing else is to be done. What it misses, or may not watch, costs
// time at the next request and nothing else: each looks for itself. Any thread may call it; it works on
// workers.
#pragma once

#include <cstdint>
#include <filesystem>
#include <list>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <vector>

#include "cache/store/manifest.h"
#include "cache/track/watcher.h"
#include "daemon/pipeline/model_host.h"
#include "daemon/pipeline/scheduler.h"
#include "daemon/pipeline/warmer.h"
#include "daemon/prompt/repository.h"

namespace kvboost::daemon {

class Follower {
 public:
  struct Parts {
    Scheduler& workers;
    ModelHost& models;
    Warmer& warmer;
    cache::Manifest& manifest;
  };
  /// All of `parts` must outlive its use, which ends with `stop`.
  Follower(const Parts& parts, const cache::WatchOptions& options);
  ~Follower();
  Follower(const Follower&) = delete;
  Follower& operator=(const Follower&) = delete;

  /// A request is about this work tree.
  void served(const std::shared_ptr<Repository>& repository);
  /// More of it is warm than before.
  void warmed(const std::shared_ptr<Repository>& repository);
  /// Watches nothing any more; when it returns, no more work comes of it.
  void stop();

  struct State {
    std::size_t folders = 0;  // watched
    std::string note;         // why none are, or empty
  };
  [[nodiscard]] State state(const std::filesystem::path& root) const;

 private:
  struct Followed {
    std::shared_ptr<Repository> repository;
    std::unique_ptr<cache::Watcher> watcher;
    std::size_t folders = 0;
    bool check_is_due = false;  // one is queued
  };
  using List = std::list<Followed>;  // the latest first

  [[nodiscard]] List::iterator find(const std::filesystem::path& root);
  void submit(void (Follower::*work)(const std::shared_ptr<Repository>&),
              const std::shared_ptr<Repository>& repository);
  void changed(const std::shared_ptr<Repository>& repository);
  void watch(const std::shared_ptr<Repository>& repository);
  void check(const std::shared_ptr<Repository>& repository);

  const Parts parts_;
  const cache::WatchOptions options_;
  const std::size_t most_folders_;
  std::stop_source stop_;
  mutable std::mutex mutex_;  // all below
  bool stopped_ = false;
  List followed_;
};

}  // namespace kvboost::daemon
