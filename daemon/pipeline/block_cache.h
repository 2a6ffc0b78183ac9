// SPDX-License-Identifier: Apache-2.0
// BlockCache: the engine's blocks in the cache's store and back. The only place that knows both. Blocks are
// found and loaded by whoever asks; what was computed is encoded and written behind the request, by a thread
// of its own with a queue of bounded bytes. A store that fails costs reuse, never a request. Any thread.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
#include <vector>

#include "base/digest.h"
#include "cache/codec/block_codec.h"
#include "cache/key/chunk_key.h"
#include "cache/store/tiered_store.h"
#include "engine/kv_block.h"

namespace kvboost::daemon {

/// How a chunk of a plan can be had.
enum class Match {
  kExact,        // its block, computed behind these very tokens, is stored
  kApproximate,  // only one that was computed behind others
  kMiss,
};

/// A part of a captured run of tokens that is a block of its own.
struct BlockCut {
  cache::ChunkKey key;
  std::int32_t first = 0;  // token of the run's block
  std::int32_t n_tokens = 0;
};

/// The tokens [first, first + n_tokens) of a block, as a block.
[[nodiscard]] engine::KvBlock slice(const engine::KvBlock& run, std::int32_t first, std::int32_t n_tokens);

/// What a prefill gave, to be cut and stored.
struct CapturedRun {
  Digest model{};  // fingerprint
  std::shared_ptr<const engine::KvBlock> block{};
  std::vector<BlockCut> cuts{};  // what of it is to be stored; the rest may still be written to
  float ms_per_token = 0;        // what computing it cost
};

class BlockCache {
 public:
  struct Options {
    std::filesystem::path directory{};      // empty: memory only
    std::uint64_t max_memory = 1ULL << 30;  // of what is stored and, a quarter or 512 MB, what waits to be
    cache::DiskLimits disk{};
    cache::Codec codec = cache::Codec::kBf16;
  };
  struct Counts {
    std::int64_t exact = 0;
    std::int64_t approximate = 0;
    std::int64_t missed = 0;
    std::uint64_t stored_bytes = 0;
    std::uint64_t refused_bytes = 0;  // computed, but not on disk (or in memory, where there is no disk)
  };

  /// Where the directory cannot hold a store, goes on in memory; `problem` says why.
  explicit BlockCache(const Options& options);
  /// Stores what is queued, then closes.
  ~BlockCache();
  BlockCache(const BlockCache&) = delete;
  BlockCache& operator=(const BlockCache&) = delete;

  [[nodiscard]] Match match(const cache::ChunkKey& key);
  /// The block with this prefix key. Nothing when it is absent, damaged, or its tier fails.
  [[nodiscard]] std::optional<engine::KvBlock> load(const Digest& prefix_key);
  /// Whether it is stored or about to be.
  [[nodiscard]] bool has(const Digest& prefix_key);

  /// Queues it; false, and forgotten, when the queue is full. A run of any size fits into an empty one.
  bool store_behind(CapturedRun run);
  /// Waits until the queue has room; false when `stop` came first. For those who have time (warm).
  bool wait_for_room(const std::stop_token& stop);
  /// Waits until all that was queued is stored on disk, or was refused there. Writes what the disk refused
  /// before, if it no longer does.
  void flush();

  void count(Match match);
  [[nodiscard]] Counts counts() const;
  [[nodiscard]] std::uint64_t queued_bytes() const;
  [[nodiscard]] cache::TieredStore& store() const { return *store_; }
  /// Empty: memory only.
  [[nodiscard]] const std::filesystem::path& directory() const { return directory_; }
  [[nodiscard]] const std::string& problem() const { return problem_; }
  /// Why a block was last refused, and what to do about it.
  [[nodiscard]] std::string last_refusal() const;

 private:
  void store(const CapturedRun& run);
  void work(const std::stop_token& stop);

  const cache::Codec codec_;
  const std::filesystem::path directory_;
  const std::uint64_t most_queued_;  // bytes
  std::string problem_;
  std::unique_ptr<cache::TieredStore> store_;
  std::atomic<std::int64_t> exact_{0}, approximate_{0}, missed_{0};
  std::atomic<std::uint64_t> stored_bytes_{0}, refused_bytes_{0};

  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<CapturedRun> queue_;  // the first one is being stored
  std::uint64_t queued_bytes_ = 0;
  std::string last_refusal_;
  std::jthread thread_;  // last: it uses all above
};

}  // namespace kvboost::daemon
