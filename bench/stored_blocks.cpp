// SPDX-License-Identifier: Apache-2.0
#include "bench/stored_blocks.h"

#include <utility>

#include "cache/key/chunk_key.h"

namespace kvboost::bench {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kPlenty = 64ULL << 30;  // nothing is to be evicted

Result<void> put(daemon::BlockCache& cache, const daemon::CapturedRun& run) {
  cache.wait_for_room({});
  if (!cache.store_behind(run)) return fail(ErrorCode::kInternal, "the queue of blocks to store is full");
  return {};
}

}  // namespace

const char* to_string(Tier tier) {
  return tier == Tier::kRam ? "ram" : tier == Tier::kDisk ? "disk" : "cold";
}

Result<StoredBlocks> StoredBlocks::make(const fs::path& directory, cache::Codec codec) {
  auto folder = ScratchFolder::make(directory);
  if (!folder) return fail(folder.error());
  StoredBlocks blocks(codec, std::move(*folder));
  blocks.memory_ = std::make_unique<daemon::BlockCache>(blocks.options(false));
  blocks.disk_ = std::make_unique<daemon::BlockCache>(blocks.options(true));
  if (!blocks.disk_->problem().empty()) {
    return fail(ErrorCode::kIo, "no blocks can be stored on disk: " + blocks.disk_->problem(),
                "choose another folder with --dir");
  }
  return blocks;
}

daemon::BlockCache::Options StoredBlocks::options(bool on_disk) const {
  daemon::BlockCache::Options options{.max_memory = kPlenty, .codec = codec_};
  if (!on_disk) return options;
  options.directory = folder_.path();
  options.disk.max_bytes = kPlenty;
  options.disk.free_floor = 0;
  return options;
}

Result<void> StoredBlocks::add(const daemon::CapturedRun& run) {
  for (const daemon::BlockCut& cut : run.cuts) warmed_.insert(cut.key.prefix);
  if (auto done = put(*memory_, run); !done) return done;
  return put(*disk_, run);
}

void StoredBlocks::end_warming() {
  memory_->flush();
  disk_->flush();
  disk_.reset();
}

std::vector<fs::path> StoredBlocks::files() const {
  std::vector<fs::path> found;
  for (const auto& entry : fs::recursive_directory_iterator(folder_.path())) {
    if (entry.path().filename() == "data.mdb") found.push_back(entry.path());
  }
  return found;
}

Result<daemon::BlockCache*> StoredBlocks::open(Tier tier) {
  if (tier == Tier::kRam) return memory_.get();
  disk_.reset();
  for (const fs::path& file : files()) {
    const auto done = tier == Tier::kCold ? make_cold(file) : make_warm(file);
    if (!done) return fail(done.error());
  }
  disk_ = std::make_unique<daemon::BlockCache>(options(true));
  if (!disk_->problem().empty()) return fail(ErrorCode::kIo, disk_->problem());
  return disk_.get();
}

Result<void> StoredBlocks::restore(const std::vector<const daemon::PromptPlan*>& plans,
                                   const Digest& context) {
  daemon::BlockCache& cache = disk_ ? *disk_ : *memory_;
  cache.flush();
  for (const daemon::PromptPlan* plan : plans) {
    cache::KeyChain chain(context);
    for (const daemon::PlanPart& part : plan->parts) {
      const Digest key = chain.next(part.tokens).prefix;
      if (warmed_.contains(key)) continue;
      if (auto erased = cache.store().erase(key); !erased) return fail(erased.error());
    }
  }
  disk_.reset();
  return {};
}

}  // namespace kvboost::bench
