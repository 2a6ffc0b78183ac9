// SPDX-License-Identifier: Apache-2.0
#include "daemon/pipeline/block_cache.h"

#include <pthread.h>

#include <algorithm>
#include <utility>

#include "base/log.h"

namespace kvboost::daemon {
namespace {

constexpr std::uint64_t kMostQueued = 512ULL << 20;

cache::BlockShape shape_of(const engine::KvShape& shape, std::int32_t n_tokens) {
  return {shape.n_layers, shape.n_kv_heads, shape.head_dim, n_tokens};
}

std::uint64_t bytes_of(const CapturedRun& run) {
  return run.block->data.size() * sizeof(run.block->data.front());
}

}  // namespace

engine::KvBlock slice(const engine::KvBlock& run, std::int32_t first, std::int32_t n_tokens) {
  engine::KvBlock block{run.shape, n_tokens, {}};
  block.data.reserve(2 * block.plane() * run.shape.n_layers);
  const std::size_t begin = run.shape.row() * first;
  for (std::int32_t layer = 0; layer < run.shape.n_layers; ++layer) {
    for (const std::uint16_t* plane : {run.keys(layer), run.values(layer)}) {
      block.data.insert(block.data.end(), plane + begin, plane + begin + block.plane());
    }
  }
  return block;
}

BlockCache::BlockCache(const Options& options)
    : codec_(options.codec),
      directory_(options.directory),
      most_queued_(std::min(kMostQueued, options.max_memory / 4)) {
  std::unique_ptr<cache::LmdbStore> disk;
  if (!options.directory.empty()) {
    if (auto opened = cache::LmdbStore::open(options.directory, options.disk)) {
      disk = std::move(*opened);
    } else {
      problem_ = opened.error().text();
      log::warn("the cache is kept in memory only: {}", problem_);
    }
  }
  auto memory = std::make_unique<cache::MemoryStore>(options.max_memory - most_queued_);
  store_ = std::make_unique<cache::TieredStore>(std::move(memory), std::move(disk));
  thread_ = std::jthread([this](const std::stop_token& stop) {
    pthread_setname_np(pthread_self(), "kv-store");
    work(stop);
  });
}

BlockCache::~BlockCache() {
  thread_.request_stop();
  changed_.notify_all();
  thread_.join();
}

Match BlockCache::match(const cache::ChunkKey& key) {
  if (has(key.prefix)) return Match::kExact;
  const auto others = store_->prefixes_of(key.content);
  return others && !others->empty() ? Match::kApproximate : Match::kMiss;
}

bool BlockCache::has(const Digest& prefix_key) {
  if (store_->contains(prefix_key)) return true;
  const std::lock_guard lock(mutex_);
  return std::ranges::any_of(queue_, [&](const CapturedRun& run) {
    return std::ranges::any_of(run.cuts, [&](const BlockCut& cut) { return cut.key.prefix == prefix_key; });
  });
}

std::optional<engine::KvBlock> BlockCache::load(const Digest& prefix_key) {
  {
    // What waits to be stored can be had already.
    const std::lock_guard lock(mutex_);
    for (const CapturedRun& run : queue_) {
      const auto cut =
          std::ranges::find(run.cuts, prefix_key, [](const BlockCut& c) { return c.key.prefix; });
      if (cut != run.cuts.end()) return slice(*run.block, cut->first, cut->n_tokens);
    }
  }
  engine::KvBlock block;
  const auto loaded = store_->load(prefix_key, block.data);
  if (!loaded || !*loaded) return std::nullopt;  // counted and told by the store
  const cache::BlockShape& shape = (*loaded)->shape;
  block.shape = {shape.n_layers, shape.n_kv_heads, shape.head_dim};
  block.n_tokens = shape.n_tokens;
  return block;
}

bool BlockCache::store_behind(CapturedRun run) {
  {
    const std::lock_guard lock(mutex_);
    if (queued_bytes_ > 0 && queued_bytes_ + bytes_of(run) > most_queued_) return false;
    queued_bytes_ += bytes_of(run);
    queue_.push_back(std::move(run));
  }
  changed_.notify_all();
  return true;
}

bool BlockCache::wait_for_room(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  return changed_.wait(lock, stop, [&] { return queued_bytes_ <= most_queued_ / 2; });
}

void BlockCache::flush() {
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return queue_.empty(); });
  }
  auto late = store_->catch_up();
  stored_bytes_ += late.written;
  refused_bytes_ += late.refused;
  if (late.refused == 0) return;
  const std::lock_guard lock(mutex_);
  last_refusal_ = std::move(late.refusal);
}

void BlockCache::work(const std::stop_token& stop) {
  for (;;) {
    const CapturedRun* run = nullptr;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, stop, [&] { return !queue_.empty(); });
      if (queue_.empty()) return;  // stopped, and all is stored
      run = &queue_.front();       // stays where it is while others are queued behind it
    }
    store(*run);
    {
      const std::lock_guard lock(mutex_);
      queued_bytes_ -= bytes_of(*run);
      queue_.pop_front();
    }
    changed_.notify_all();
  }
}

void BlockCache::store(const CapturedRun& run) {
  const std::vector<cache::Codec> codecs(run.block->shape.n_layers, codec_);
  for (const BlockCut& cut : run.cuts) {
    if (store_->contains(cut.key.prefix)) continue;
    const engine::KvBlock block = slice(*run.block, cut.first, cut.n_tokens);
    cache::RecordInfo info;
    info.shape = shape_of(block.shape, block.n_tokens);
    info.model = run.model;
    info.prefix_key = cut.key.prefix;
    info.content_key = cut.key.content;
    info.importance = cache::value_norm(info.shape, block.data);
    info.rebuild_ms = run.ms_per_token * static_cast<float>(cut.n_tokens);
    const auto payload = cache::encode_block(info.shape, block.data, codecs);
    if (!payload) {
      log::warn("a block is not stored: {}", payload.error().message);
      continue;
    }
    const cache::SealedRecord record(info, *payload);
    if (const auto put = store_->put(record); put) {
      stored_bytes_ += record.size();
    } else {
      refused_bytes_ += record.size();
      const std::lock_guard lock(mutex_);
      last_refusal_ = put.error().text();
    }
  }
}

void BlockCache::count(Match match) {
  ++(match == Match::kExact ? exact_ : match == Match::kApproximate ? approximate_ : missed_);
}

BlockCache::Counts BlockCache::counts() const {
  return {exact_, approximate_, missed_, stored_bytes_, refused_bytes_};
}

std::uint64_t BlockCache::queued_bytes() const {
  const std::lock_guard lock(mutex_);
  return queued_bytes_;
}

std::string BlockCache::last_refusal() const {
  const std::lock_guard lock(mutex_);
  return last_refusal_;
}

}  // namespace kvboost::daemon
