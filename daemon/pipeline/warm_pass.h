// SPDX-License-Identifier: Apache-2.0
// WarmPass: one warm, from the files that are wanted to stored blocks. First all files are looked at, so that
// it is known how much there is to do: a file that the manifest knows is read, but not cut. Then what is
// missing is computed, two groups in the engine's queue at a time, so that it never waits for them. Made and
// run on the warmer's thread.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "daemon/pipeline/group_run.h"
#include "daemon/pipeline/old_variants.h"
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
  [[nodiscard]] const std::set<std::string>& to_renew() const { return to_renew_; }
  /// Contents of which there is one more block now than there was.
  [[nodiscard]] const ContentKeys& computed_again() const { return computed_again_; }

 private:
  /// What of a file is missing, by the keys of its blocks.
  struct Need {
    std::vector<std::size_t> ends;  // of each group: part behind the last one to compute; 0: none
    std::int64_t chunks = 0;
    std::int64_t tokens = 0;
    std::int64_t later = 0;       // chunks that are left for a renewal
    std::vector<Digest> again{};  // content keys of what is computed although a block of it is stored
  };
  struct Cut {
    Digest text;
    std::vector<BlockGroup> groups;
  };
  struct Missing {
    std::string path;
    std::int64_t tokens = 0;
    std::optional<Cut> cut{};  // unless it was not worth its memory
  };

  [[nodiscard]] Result<void> use_model();
  [[nodiscard]] bool try_model();
  [[nodiscard]] Result<void> survey();
  void survey(const std::string& path, const std::string& text);
  [[nodiscard]] Result<void> compute_all();
  [[nodiscard]] Result<void> compute(Missing& file);
  void store_header();
  [[nodiscard]] Cut cut(const std::string& path, const std::string& text, const Digest& digest) const;
  /// What the manifest knows of the file, if that is of this very text, cut as it would be now.
  [[nodiscard]] std::optional<cache::ManifestFile> known(const std::string& path, const Digest& text) const;
  [[nodiscard]] cache::ManifestFile kept(const std::string& path, const Cut& cut) const {
    return manifest_of(cut.groups, cut.text, has_neighbours(path) ? context_ : plain_context_);
  }
  [[nodiscard]] bool has_neighbours(const std::string& path) const {
    return !neighbours_.paths.contains(path);
  }
  [[nodiscard]] Need need_of(const cache::ManifestFile& file) const;
  [[nodiscard]] std::size_t end_of_need(KeptGroup group, std::span<const Match> matches) const;
  void submit(BlockGroup group, std::size_t end);
  void run_on_engine(const std::shared_ptr<GroupRun>& run, const std::shared_ptr<ModelHost::Lease>& lease);
  void end_run(Result<void> outcome);
  [[nodiscard]] Result<void> wait_for_runs(std::size_t most);
  [[nodiscard]] bool disk_is_full() const;
  /// As often as somebody may want to look.
  void report(const char* stage, const std::string& path);
  void report_now();

  const Warmer::Parts& parts_;
  const WarmRequest& request_;
  const Want want_;
  const std::stop_token stop_;
  std::shared_ptr<ModelHost::Lease> lease_;  // of the file at hand
  std::optional<BlockNames> names_;
  NeighbourRun neighbours_;  // what the files' blocks are computed behind
  Digest context_;           // of the files
  Digest plain_context_;     // of those that have no neighbours
  protocol::WarmResult result_;
  protocol::WarmProgress progress_;
  std::chrono::steady_clock::time_point reported_{};
  std::chrono::steady_clock::time_point computing_since_{};
  BlockCache::Counts counts_before_;
  std::vector<Missing> missing_;
  std::size_t cut_bytes_ = 0;  // held in `missing_`
  ContentKeys submitted_;      // stored by now or soon
  ContentKeys computed_again_;
  std::set<std::string> to_renew_;

  std::mutex mutex_;  // all below
  std::condition_variable changed_;
  std::size_t running_ = 0;
  Result<void> outcome_;
  std::int64_t computed_chunks_ = 0;
  std::int64_t computed_tokens_ = 0;
};

}  // namespace kvboost::daemon
