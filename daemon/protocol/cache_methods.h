// SPDX-License-Identifier: Apache-2.0
// The methods that concern the cache: warm, skipped, cache/… and status. Part of methods.h, which is what to
// include: the JSON forms are declared there.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace kvboost::protocol {

/// A file that was left out of the repository, and why.
struct SkippedPath {
  std::string path;
  std::string reason;
};

// warm
struct WarmParams {
  std::string directory;           // absolute: where the user stands
  std::vector<std::string> paths;  // files or directories; empty: the whole work tree
  bool changed = false;            // only what differs from HEAD, untracked files included
  std::string since;               // only what differs from this revision; empty: no matter
  bool background = false;         // answer as soon as the work is known, and do it after that
  bool dry_run = false;            // say what would be done
};
/// Notification warm/progress.
struct WarmProgress {
  std::string stage;  // "reading" "waiting" "trying" "warming"
  std::string path;   // the file at hand, or empty
  std::int64_t files_done = 0;
  std::int64_t files = 0;
  std::int64_t tokens_done = 0;
  std::int64_t tokens = 0;
  std::uint64_t bytes = 0;  // stored so far
  double tokens_per_second = 0;
  std::int64_t percent = 0;  // of "trying" the model
};
struct WarmResult {
  std::string root;  // the work tree
  std::string note;  // one line about the work tree (no repository, ...), or empty
  std::int64_t files = 0;
  std::int64_t chunks = 0;  // of these files
  std::int64_t tokens = 0;
  std::int64_t computed_chunks = 0;  // that were not there yet; dry run: that would have to be computed
  std::int64_t computed_tokens = 0;
  std::uint64_t stored_bytes = 0;
  std::uint64_t refused_bytes = 0;  // computed, and not stored: a full disk, say
  std::string refusal;              // why, and what to do about it
  double seconds = 0;
  double tokens_per_second = 0;
  std::int64_t later_chunks = 0;  // found behind an older left context; idle time renews them
  std::vector<SkippedPath> skipped;
  bool background = false;  // the work goes on; what is computed and stored is not known yet
  bool dry_run = false;
};

// skipped
struct SkippedParams {
  std::string directory;  // absolute
};
struct SkippedResult {
  std::string root;
  std::string note;
  std::vector<SkippedPath> skipped;
};

/// One tier of the store, in cache/stats and status.
struct CacheTier {
  std::string name;  // "memory" "disk"
  std::uint64_t records = 0;
  std::uint64_t bytes = 0;  // of records
  std::uint64_t used = 0;   // overhead included
  std::uint64_t limit = 0;
  std::uint64_t hits = 0;
  std::uint64_t misses = 0;
  std::uint64_t evictions = 0;
  std::uint64_t corrupt = 0;
  std::uint64_t failures = 0;
  std::string problem{};  // why the tier is off or was rebuilt, or empty
};
/// Chunks by how they were found, since the daemon's start.
struct ReuseCount {
  std::int64_t exact = 0;
  std::int64_t approximate = 0;
  std::int64_t missed = 0;
};

// cache/stats
struct CacheModel {
  std::string fingerprint;  // hexadecimal
  std::string path;         // of the model file, or empty when nobody knows
  bool current = false;     // the one that answers
  std::uint64_t records = 0;
  std::uint64_t bytes = 0;
};
struct CacheRoot {
  std::string root;
  std::int64_t files = 0;   // of which anything is stored
  std::int64_t chunks = 0;  // that are stored
  std::uint64_t bytes = 0;  // of records that the disk holds for it; shared ones count for each
  std::vector<std::string> pinned;
};
/// A folder that a build with another format of blocks has left; nobody reads it.
struct CacheFormat {
  std::string name;
  std::uint64_t bytes = 0;
};
struct CacheStatsResult {
  std::vector<CacheTier> tiers;
  std::vector<CacheModel> models;
  std::vector<CacheRoot> roots;
  ReuseCount reuse;
  std::uint64_t queue_bytes = 0;         // on their way to disk
  std::uint64_t unreferenced_bytes = 0;  // of records that no followed work tree refers to
  std::vector<CacheFormat> other_formats;
};

// cache/inspect
struct CacheInspectParams {
  std::string directory;  // absolute
  std::string path;       // one file, from `directory` on
};
struct CacheChunk {
  std::int32_t first_line = 0;
  std::int32_t last_line = 0;
  std::int32_t tokens = 0;
  std::string content;  // content key, hexadecimal
  std::string prefix;   // prefix key
  std::string where;    // "memory" "disk" "absent"
  std::uint64_t bytes = 0;
  std::string codec;
  double importance = 0;
  double rebuild_ms = 0;
  std::string left;  // "exact": behind the left context it has now; "older"; empty when absent
};
struct CacheInspectResult {
  std::string root;
  std::string path;      // from the root on
  bool current = false;  // the file still says what it said when it was cut into these chunks
  std::vector<CacheChunk> chunks;
};

// cache/evict, cache/clear
struct CacheEvictParams {
  double older_than_s = 0;         // not used for so long; 0: no matter
  std::string model;               // beginning of a fingerprint; empty: any
  bool stale = false;              // that no followed work tree refers to
  std::string directory;           // absolute; with `paths`
  std::vector<std::string> paths;  // of these files and directories; empty: any
  bool dry_run = false;
};
struct CacheClearParams {
  bool dry_run = false;
};
struct CacheEvictResult {
  std::uint64_t records = 0;
  std::uint64_t bytes = 0;
  bool dry_run = false;
};

// cache/verify
/// Notification cache/progress.
struct CacheProgress {
  std::int64_t done = 0;
  std::int64_t total = 0;
};
struct CacheVerifyResult {
  std::uint64_t checked = 0;
  std::uint64_t corrupt = 0;  // and removed
  std::string problem;        // of the disk tier: what was lost, or why nothing is kept; or empty
};

// cache/pin
struct CachePinParams {
  std::string directory;  // absolute
  std::string path;       // a file or a directory, from `directory` on
  bool remove = false;
};
struct CachePinResult {
  std::string root;
  std::vector<std::string> pins;  // from the root on; "" is the whole work tree
};

/// What is being warmed, in status. An empty root: nothing.
struct WarmingState {
  std::string root;
  std::int64_t files_done = 0;
  std::int64_t files = 0;
  double tokens_per_second = 0;
};

/// A work tree that requests were about since the daemon's start, as of the last look at it.
struct RepositoryState {
  std::string root;
  std::string branch;  // or empty
  std::string head;    // commit id, or empty
  std::int64_t watched_folders = 0;
  std::string note;  // why its files are not watched, or empty
};

// status
struct StatusResult {
  std::string version;
  std::string build;
  std::int64_t pid = 0;
  double uptime_s = 0;
  std::string state;  // "idle" "loading" "ready" "busy" "leaving"
  std::string model;  // path, or empty when none is set
  std::string model_name;
  std::string model_error;  // why the last load failed, or empty
  std::string compute;      // "bf16" "f32"
  std::string compute_reason;
  std::int32_t threads = 0;
  std::int32_t context = 0;
  double load_seconds = 0;
  std::uint64_t weight_bytes = 0;
  std::uint64_t live_kv_bytes = 0;
  std::uint64_t cached_kv_bytes = 0;  // blocks in memory
  std::uint64_t resident_bytes = 0;
  std::int32_t live_sequences = 0;
  std::int32_t connections = 0;
  std::int32_t running = 0;
  std::int32_t queued = 0;
  std::int64_t requests = 0;
  std::int64_t prompt_tokens = 0;
  std::int64_t reused_tokens = 0;
  std::int64_t cancelled = 0;
  std::int64_t failed = 0;
  std::vector<CacheTier> tiers;
  ReuseCount reuse;
  std::string repair;         // policy for blocks that stand behind other text, "exact": they are not used
  std::string repair_reason;  // why it is that one
  std::uint64_t queue_bytes = 0;  // blocks on their way to disk
  WarmingState warming;
  std::vector<RepositoryState> repositories;  // the latest first
  std::string socket;
  std::string log_file;
  std::string http;             // "http://127.0.0.1:8012", or empty: it is off
  std::string http_token_file;  // where its clients' token stands, or empty
};

}  // namespace kvboost::protocol
