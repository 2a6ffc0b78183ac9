// SPDX-License-Identifier: Apache-2.0
#include "daemon/cache_handler.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <unordered_set>
#include <utility>

#include "base/bytes.h"
#include "cache/store/other_formats.h"
#include "daemon/evict_choice.h"
#include "daemon/pipeline/file_blocks.h"
#include "daemon/prompt/named_paths.h"

namespace kvboost::daemon {
namespace {

using cache::ManifestChunk;
using cache::ManifestFile;
using cache::TieredStore;

std::string codec_name(const cache::RecordRef& record) {
  const auto codecs = cache::codecs_of(record.info().shape, record.payload());
  if (!codecs) return "unknown";
  const bool one = std::ranges::all_of(*codecs, [&](cache::Codec codec) { return codec == codecs->front(); });
  return one ? std::string(cache::to_string(codecs->front())) : "mixed";
}

}  // namespace

std::vector<protocol::CacheTier> tiers_of(const BlockCache& blocks) {
  std::vector<protocol::CacheTier> tiers;
  for (cache::TierStats& tier : blocks.store().stats()) {
    tiers.push_back({std::move(tier.name), tier.records, tier.bytes, tier.used, tier.limit, tier.hits,
                     tier.misses, tier.evictions, tier.corrupt, tier.failures, std::move(tier.problem)});
  }
  if (!blocks.problem().empty()) {
    protocol::CacheTier& disk = tiers.emplace_back();
    disk.name = "disk";
    disk.problem = blocks.problem();
  }
  return tiers;
}

protocol::ReuseCount reuse_of(const BlockCache& blocks) {
  const BlockCache::Counts counts = blocks.counts();
  return {counts.exact, counts.approximate, counts.missed};
}

protocol::DoctorCheck check_cache(const BlockCache& blocks) {
  protocol::DoctorCheck check{"cache", "ok", {}, {}};
  for (const protocol::CacheTier& tier : tiers_of(blocks)) {
    check.detail += (check.detail.empty() ? "" : "; ") + tier.name + ": ";
    if (tier.problem.empty()) {
      check.detail += human_size(tier.used) + " of " + human_size(tier.limit);
    } else {
      check.verdict = "warning";
      check.detail += tier.problem;
      check.remedy = "answers come all the same, but what was computed may not outlive the daemon";
    }
  }
  return check;
}

template <class Params, class Value>
void CacheHandler::add(Binder& binder, const char* method,
                       Result<Value> (CacheHandler::*run)(const RequestContext&, const Params&)) {
  binder.add<Params, Value>(method, RunOn::kIo, [this, run](auto context, auto params, auto reply) {
    parts_.workers.submit(Priority::kWarm, {.run = [this, run, context, params = std::move(params),
                                                    reply] { reply((this->*run)(context, params)); },
                                            .drop = [reply](Error error) { reply(fail(std::move(error))); },
                                            .stop = context.stop()});
  });
}

void CacheHandler::bind(Binder& binder) {
  add(binder, "cache/stats", &CacheHandler::stats);
  add(binder, "cache/inspect", &CacheHandler::inspect);
  add(binder, "cache/evict", &CacheHandler::evict);
  add(binder, "cache/clear", &CacheHandler::clear);
  add(binder, "cache/verify", &CacheHandler::verify);
  add(binder, "cache/pin", &CacheHandler::pin);
}

CacheHandler::Items CacheHandler::items() const {
  Items items;
  parts_.blocks.store().for_each(
      [&](const Digest& prefix, const TieredStore::Item& item) { items.emplace(prefix, item); });
  return items;
}

Result<protocol::CacheStatsResult> CacheHandler::stats(const RequestContext& /*context*/,
                                                       const protocol::Nothing& /*params*/) {
  parts_.blocks.flush();
  protocol::CacheStatsResult result;
  const Items stored = items();
  const ModelHost::Snapshot model = parts_.models.snapshot();
  std::map<Digest, protocol::CacheModel> models;
  for (const auto& [prefix, item] : stored) {
    protocol::CacheModel& one = models[item.entry.model];
    ++one.records;
    one.bytes += item.entry.bytes;
    if (!item.entry.referenced) result.unreferenced_bytes += item.entry.bytes;
  }
  for (auto& [fingerprint, one] : models) {
    one.fingerprint = fingerprint.hex();
    one.current = model.names && model.names->model == fingerprint;
    if (one.current) one.path = model.path.string();
    result.models.push_back(std::move(one));
  }
  for (const cache::Manifest::Root& root : parts_.manifest.roots()) {
    protocol::CacheRoot& one = result.roots.emplace_back();
    one.root = root.root;
    std::unordered_set<Digest, DigestHash> counted;
    // What a warm has planned and not computed yet is in the manifest, too.
    const auto read = parts_.manifest.for_each(root.root, [&](const std::string&, const ManifestFile& file) {
      std::int64_t chunks = 0;
      for (const ManifestChunk& chunk : file.chunks) {
        const auto found = stored.find(chunk.prefix);
        if (found == stored.end()) continue;
        chunks += is_opening(chunk) ? 0 : 1;
        if (counted.insert(chunk.prefix).second) one.bytes += found->second.entry.bytes;
      }
      one.files += chunks > 0 ? 1 : 0;
      one.chunks += chunks;
    });
    if (!read) return fail(read.error());
    const auto pins = parts_.manifest.pins(root.root);
    one.pinned.assign(pins.begin(), pins.end());
  }
  for (const cache::OtherFormat& format : cache::other_formats(parts_.blocks.directory())) {
    result.other_formats.push_back({format.name, format.bytes});
  }
  result.tiers = tiers_of(parts_.blocks);
  result.reuse = reuse_of(parts_.blocks);
  result.queue_bytes = parts_.blocks.queued_bytes();
  return result;
}

protocol::CacheChunk CacheHandler::chunk_of(const ManifestChunk& chunk, const Items& items) const {
  protocol::CacheChunk out;
  out.first_line = chunk.first_line;
  out.last_line = chunk.last_line;
  out.tokens = static_cast<std::int32_t>(chunk.tokens);
  out.content = chunk.content.hex();
  out.prefix = chunk.prefix.hex();
  out.where = "absent";
  auto found = items.find(chunk.prefix);
  if (found != items.end()) {
    out.left = "exact";
  } else {
    for (const Digest& other :
         parts_.blocks.store().prefixes_of(chunk.content).value_or(std::vector<Digest>())) {
      if (found = items.find(other); found != items.end()) break;
    }
    if (found == items.end()) return out;
    out.left = "older";
  }
  const TieredStore::Item& item = found->second;
  out.where = item.in_memory ? "memory" : "disk";
  out.bytes = item.entry.bytes;
  out.importance = item.entry.importance;
  out.rebuild_ms = item.entry.rebuild_ms;
  const auto record = parts_.blocks.store().get(found->first);
  if (record && *record) out.codec = codec_name(**record);
  return out;
}

Result<protocol::CacheInspectResult> CacheHandler::inspect(const RequestContext& /*context*/,
                                                           const protocol::CacheInspectParams& params) {
  const auto repository = parts_.repositories.open(params.directory);
  if (!repository) return fail(repository.error());
  const std::string root = (*repository)->root().string();
  const auto path = path_in_root((*repository)->root(), params.path, params.directory);
  if (!path) return fail(path.error());
  const auto file = parts_.manifest.find(root, *path);
  if (!file) return fail(file.error());
  if (!*file) {
    std::error_code error;
    if (!std::filesystem::exists((*repository)->root() / *path, error)) {
      return fail(ErrorCode::kNotFound, params.path + ": no such file");
    }
    return fail(ErrorCode::kNotFound, params.path + " has not been read ahead",
                "`kvboost warm " + params.path + "` does that");
  }
  parts_.blocks.flush();
  const Items stored = items();
  protocol::CacheInspectResult result;
  result.root = root;
  result.path = *path;
  const auto text = (*repository)->read(*path);
  result.current = text && sha256(*text) == (*file)->text;
  for (const ManifestChunk& chunk : (*file)->chunks) {
    if (!is_opening(chunk)) result.chunks.push_back(chunk_of(chunk, stored));
  }
  return result;
}

Result<protocol::CacheEvictResult> CacheHandler::evict(const RequestContext& /*context*/,
                                                       const protocol::CacheEvictParams& params) {
  auto choice = EvictChoice::of(params, parts_.repositories, parts_.blocks, parts_.manifest);
  if (!choice) return fail(choice.error());
  parts_.blocks.flush();
  const auto removed = parts_.blocks.store().remove_if(
      [&](const Digest& prefix, const TieredStore::Item& item) { return choice->takes(prefix, item.entry); },
      params.dry_run);
  if (!removed) return fail(removed.error());
  if (!params.dry_run) {
    if (auto forgotten = choice->forget_gone_roots(); !forgotten) return fail(forgotten.error());
  }
  return protocol::CacheEvictResult{removed->records, removed->bytes, params.dry_run};
}

Result<protocol::CacheEvictResult> CacheHandler::clear(const RequestContext& /*context*/,
                                                       const protocol::CacheClearParams& params) {
  parts_.blocks.flush();
  const auto removed = parts_.blocks.store().remove_if(
      [](const Digest&, const TieredStore::Item&) { return true; }, params.dry_run);
  if (!removed) return fail(removed.error());
  std::uint64_t others = 0;
  for (const cache::OtherFormat& format : cache::other_formats(parts_.blocks.directory())) {
    others += format.bytes;
    if (!params.dry_run) cache::remove(parts_.blocks.directory(), format);
  }
  if (!params.dry_run) {
    for (const cache::Manifest::Root& root : parts_.manifest.roots()) {
      if (auto emptied = forget_files(parts_.manifest, root.root); !emptied) return fail(emptied.error());
    }
  }
  return protocol::CacheEvictResult{removed->records, removed->bytes + others, params.dry_run};
}

Result<protocol::CacheVerifyResult> CacheHandler::verify(const RequestContext& context,
                                                         const protocol::Nothing& /*params*/) {
  parts_.blocks.flush();
  protocol::CacheVerifyResult result;
  const auto corrupt = parts_.blocks.store().verify([&](std::uint64_t checked, std::uint64_t all) {
    result.checked = checked;
    context.notify("cache/progress", protocol::CacheProgress{static_cast<std::int64_t>(checked),
                                                             static_cast<std::int64_t>(all)});
    return !context.stop().stop_requested();
  });
  if (!corrupt) return fail(corrupt.error());
  if (context.stop().stop_requested()) return fail(ErrorCode::kCancelled, "cancelled while reading records");
  result.corrupt = *corrupt;
  result.problem = tiers_of(parts_.blocks).back().problem;
  return result;
}

Result<protocol::CachePinResult> CacheHandler::pin(const RequestContext& /*context*/,
                                                   const protocol::CachePinParams& params) {
  const auto repository = parts_.repositories.open(params.directory);
  if (!repository) return fail(repository.error());
  const std::string root = (*repository)->root().string();
  const auto path = path_in_root((*repository)->root(), params.path, params.directory);
  if (!path) return fail(path.error());
  std::error_code error;
  if (!params.remove && !std::filesystem::exists((*repository)->root() / *path, error)) {
    return fail(ErrorCode::kNotFound, params.path + ": no such file or folder");
  }
  const auto done = params.remove ? parts_.manifest.unpin(root, *path) : parts_.manifest.pin(root, *path);
  if (!done) return fail(done.error());
  const auto pins = parts_.manifest.pins(root);
  return protocol::CachePinResult{root, {pins.begin(), pins.end()}};
}

}  // namespace kvboost::daemon
