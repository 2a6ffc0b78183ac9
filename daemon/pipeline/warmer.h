// SPDX-License-Identifier: Apache-2.0
// Warmer: turns files into stored blocks. A thread of its own reads and cuts the files and feeds the engine
// thread group by group, at the lowest priority; each request overtakes it within a layer. One warm runs at a
// time. After an edit only the chunks that changed are computed at once; those behind them, whose blocks were
// computed behind the old text, are renewed when no warm is waiting.
// Any thread may call it; callbacks come on its thread.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "base/error.h"
#include "cache/store/manifest.h"
#include "daemon/pipeline/block_cache.h"
#include "daemon/pipeline/file_blocks.h"
#include "daemon/pipeline/model_host.h"
#include "daemon/pipeline/neighbours.h"
#include "daemon/pipeline/old_variants.h"
#include "daemon/pipeline/scheduler.h"
#include "daemon/prompt/repository.h"
#include "daemon/protocol/methods.h"

namespace kvboost::daemon {

struct WarmRequest {
  std::shared_ptr<Repository> repository;  // refreshed
  std::vector<std::string> files{};        // relative to its root
  bool whole_tree = false;                 // `files` are all it has: what else is known of it is forgotten
  bool dry_run = false;
  std::function<void(const protocol::WarmProgress&)> progress{};
  std::stop_token stop{};
};

class Warmer {
 public:
  struct Parts {
    Scheduler& engine_thread;
    ModelHost& models;
    BlockCache& blocks;
    cache::Manifest& manifest;
    const Neighbours& neighbours;
    std::int64_t worth_a_trial = 200'000;  // tokens: a warm of so many has a new model tried first
    /// Told on its thread when the manifest may know more files of a work tree.
    std::function<void(const std::shared_ptr<Repository>&)> warmed{};
  };
  /// All of `parts` must outlive it.
  explicit Warmer(const Parts& parts);
  /// Stops what runs; requests that wait fail.
  ~Warmer();
  Warmer(const Warmer&) = delete;
  Warmer& operator=(const Warmer&) = delete;

  using Done = std::function<void(Result<protocol::WarmResult>)>;
  /// A dry run waits for nobody: it is done here and now, on the caller's thread. Otherwise `done` comes
  /// once; on the thread that asks for the stop, if the request still waits then.
  void submit(WarmRequest request, Done done);

  /// The model's trial may have let blocks be used that are computed behind neighbours: those of the
  /// repository that were computed behind the header alone for the model are renewed.
  void renew(const std::shared_ptr<Repository>& repository, const LoadedModel& model);

  /// A prompt was served from blocks that stood behind other text. When its files come a second time in this
  /// order, their blocks are computed as they stand in it, when nothing else is to be done.
  void improve(const Digest& context, BlockGroup prompt);

  [[nodiscard]] protocol::WarmingState state() const;
  /// Files whose blocks wait to be renewed.
  [[nodiscard]] std::size_t to_renew() const;
  /// Prompts whose blocks wait to be improved, the one under way among them.
  [[nodiscard]] std::size_t to_improve() const;

 private:
  struct Waiting {
    WarmRequest request;
    Done done;
    std::optional<std::stop_callback<std::function<void()>>> on_stop{};
  };
  struct Renewal {
    std::shared_ptr<Repository> repository;
    std::string path;
  };

  struct Improvement {
    Digest context;  // of the model whose blocks these are
    BlockGroup prompt;
  };

  void work(const std::stop_token& stop);
  void drop(const Waiting* waiting);
  void warm(Waiting& waiting, const std::stop_token& stop);
  void push_renewals(const std::shared_ptr<Repository>& repository, const std::set<std::string>& paths);
  void renew(const Renewal& renewal, const std::stop_token& stop);
  void tidy();
  void compute(const Improvement& improvement, const std::stop_token& stop);

  const Parts parts_;
  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<std::shared_ptr<Waiting>> waiting_;
  std::deque<Renewal> renewals_;
  ContentKeys computed_again_;  // since the last tidying
  std::deque<Digest> served_;   // prefix keys at the ends of prompts that came once
  std::deque<Improvement> improvements_;
  std::size_t improving_ = 0;  // 0 or 1
  protocol::WarmingState state_;
  std::jthread thread_;  // last: it uses all above
};

}  // namespace kvboost::daemon
