// SPDX-License-Identifier: Apache-2.0
// StoredBlocks: the blocks of the reuse bench in one codec, in memory and on disk, always as they were when
// the warming ended: what a prompt adds is taken out again. One thread (the engine's).
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <unordered_set>
#include <vector>

#include "base/error.h"
#include "bench/scratch_folder.h"
#include "cache/codec/block_codec.h"
#include "daemon/pipeline/block_cache.h"
#include "daemon/prompt/prompt_plan.h"

namespace kvboost::bench {

enum class Tier {
  kRam,   // all in memory
  kDisk,  // after a restart: the store was closed and opened again, its file is in the page cache
  kCold,  // the same, and the page cache has forgotten the file
};
[[nodiscard]] const char* to_string(Tier tier);

class StoredBlocks {
 public:
  /// Makes a folder within `directory` for the blocks on disk.
  [[nodiscard]] static Result<StoredBlocks> make(const std::filesystem::path& directory, cache::Codec codec);

  [[nodiscard]] cache::Codec codec() const { return codec_; }

  /// Adds what was captured to memory and disk.
  [[nodiscard]] Result<void> add(const daemon::CapturedRun& run);
  /// No more are added: closes the disk's store.
  void end_warming();

  /// The store as a request finds it; good until the next call of `open` or `restore`.
  [[nodiscard]] Result<daemon::BlockCache*> open(Tier tier);
  /// Takes out of the store that is open what requests with these plans have added. `context` as of
  /// cache::key_context.
  [[nodiscard]] Result<void> restore(const std::vector<const daemon::PromptPlan*>& plans,
                                     const Digest& context);

 private:
  StoredBlocks(cache::Codec codec, ScratchFolder folder) : codec_(codec), folder_(std::move(folder)) {}
  [[nodiscard]] daemon::BlockCache::Options options(bool on_disk) const;
  [[nodiscard]] std::vector<std::filesystem::path> files() const;

  cache::Codec codec_;
  ScratchFolder folder_;
  std::unordered_set<Digest, DigestHash> warmed_;  // prefix keys
  std::unique_ptr<daemon::BlockCache> memory_;
  std::unique_ptr<daemon::BlockCache> disk_;  // after end_warming: the one that is open, or none
};

}  // namespace kvboost::bench
