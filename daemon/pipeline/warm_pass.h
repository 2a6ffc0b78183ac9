// SPDX-License-Identifier: Apache-2.0
// WarmPass: one warm, from the files that are wanted to stored blocks. First all files are looked at, so that
// it is known how much there is to do; then what is missing is computed, two groups in the engine's queue at
// a time, so that it never waits for files to be read and cut. Made and run on the warmer's thread.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "daemon/pipeline/group_run.h"
#include "daemon/pipeline/warmer.h"

namespace kvboost::daemon {

class WarmPass {
 public:
  /// What counts as missing.
  enum class Want {
    kContent,  // chunks of which no block is stored, behind whatever
    kExact,    // all whose block was not computed behind what stands before them now
  };

  WarmPass(const Warmer::Parts& parts, const WarmRequest& request, Want want, std::stop_token stop);
  /// Waits for what is in the engine's queue.
  ~WarmPass();
  WarmPass(const WarmPass&) = delete;
  WarmPass& operator=(const WarmPass&) = delete;

  [[nodiscard]] Result<protocol::WarmResult> run();
  /// Files some blocks of which are to be renewed.
  [[nodiscard]] const std::vector<std::string>& to_renew() const { return to_renew_; }

 private:
  /// A group as far as something of it is missing.
  struct Need {
    std::size_t end = 0;  // part behind the last one to compute; 0: none
    std::int64_t chunks = 0;
    std::int64_t tokens = 0;
    std::int64_t later = 0;  // chunks that are left for a renewal
  };
  struct Cut {
    std::vector<BlockGroup> groups;
    Digest text;
  };

  [[nodiscard]] Result<void> use_model();
  [[nodiscard]] Result<void> survey();
  [[nodiscard]] Result<void> compute_all();
  [[nodiscard]] Result<void> compute(const std::string& path);
  /// Nothing when the file cannot be read any more.
  [[nodiscard]] std::optional<Cut> cut(const std::string& path) const;
  [[nodiscard]] Need need_of(const BlockGroup& group) const;
  void submit(std::shared_ptr<GroupRun> run);
  void run_on_engine(const std::shared_ptr<GroupRun>& run, const std::shared_ptr<ModelHost::Lease>& lease);
  void end_run(const GroupRun& run, Result<void> outcome);
  [[nodiscard]] Result<void> wait_for_runs(std::size_t most);
  [[nodiscard]] bool disk_is_full() const;
  void report(const char* stage, const std::string& path);

  const Warmer::Parts& parts_;
  const WarmRequest& request_;
  const Want want_;
  const std::stop_token stop_;
  std::shared_ptr<ModelHost::Lease> lease_;  // of the file at hand
  std::optional<BlockNames> names_;
  Digest manifest_context_;
  protocol::WarmResult result_;
  protocol::WarmProgress progress_;
  std::chrono::steady_clock::time_point computing_since_{};
  std::uint64_t bytes_before_ = 0;
  std::vector<std::string> to_compute_;
  std::vector<std::string> to_renew_;

  std::mutex mutex_;  // all below
  std::condition_variable changed_;
  std::size_t running_ = 0;
  Result<void> outcome_;
  std::int64_t computed_chunks_ = 0;
  std::int64_t computed_tokens_ = 0;
};

}  // namespace kvboost::daemon
