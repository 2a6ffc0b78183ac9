// SPDX-License-Identifier: Apache-2.0
// Each struct lists its fields once, in visit_fields (see method_codec.h).
#include "daemon/protocol/cache_methods.h"

#include "daemon/protocol/method_codec.h"

namespace kvboost::protocol {

static void visit_fields(Of<SkippedPath> auto& v, auto& field) {
  field.path("path", v.path, kRequired);
  field.value("reason", v.reason);
}

static void visit_fields(Of<WarmParams> auto& v, auto& field) {
  field.path("directory", v.directory, Rule{.required = true, .absolute = true});
  field.paths("paths", v.paths);
  field.value("changed", v.changed);
  field.value("since", v.since);
  field.value("background", v.background);
  field.value("dry_run", v.dry_run);
}

static void visit_fields(Of<WarmProgress> auto& v, auto& field) {
  field.value("stage", v.stage, kRequired);
  field.path("path", v.path);
  field.value("files_done", v.files_done, kCount);
  field.value("files", v.files, kCount);
  field.value("tokens_done", v.tokens_done, kCount);
  field.value("tokens", v.tokens, kCount);
  field.value("bytes", v.bytes);
  field.value("tokens_per_second", v.tokens_per_second);
  field.value("percent", v.percent, kCount);
}

static void visit_fields(Of<WarmResult> auto& v, auto& field) {
  field.path("root", v.root);
  field.value("note", v.note);
  field.value("files", v.files, kCount);
  field.value("chunks", v.chunks, kCount);
  field.value("tokens", v.tokens, kCount);
  field.value("computed_chunks", v.computed_chunks, kCount);
  field.value("computed_tokens", v.computed_tokens, kCount);
  field.value("stored_bytes", v.stored_bytes);
  field.value("refused_bytes", v.refused_bytes);
  field.value("refusal", v.refusal);
  field.value("seconds", v.seconds);
  field.value("tokens_per_second", v.tokens_per_second);
  field.value("later_chunks", v.later_chunks, kCount);
  field.list("skipped", v.skipped);
  field.value("background", v.background);
  field.value("dry_run", v.dry_run);
}

static void visit_fields(Of<SkippedParams> auto& v, auto& field) {
  field.path("directory", v.directory, Rule{.required = true, .absolute = true});
}

static void visit_fields(Of<SkippedResult> auto& v, auto& field) {
  field.path("root", v.root);
  field.value("note", v.note);
  field.list("skipped", v.skipped);
}

static void visit_fields(Of<CacheTier> auto& v, auto& field) {
  field.value("name", v.name, kRequired);
  field.value("records", v.records);
  field.value("bytes", v.bytes);
  field.value("used", v.used);
  field.value("limit", v.limit);
  field.value("hits", v.hits);
  field.value("misses", v.misses);
  field.value("evictions", v.evictions);
  field.value("corrupt", v.corrupt);
  field.value("failures", v.failures);
  field.value("problem", v.problem);
}

static void visit_fields(Of<CacheModel> auto& v, auto& field) {
  field.value("fingerprint", v.fingerprint, kRequired);
  field.path("path", v.path);
  field.value("current", v.current);
  field.value("records", v.records);
  field.value("bytes", v.bytes);
}

static void visit_fields(Of<CacheRoot> auto& v, auto& field) {
  field.path("root", v.root, kRequired);
  field.value("files", v.files, kCount);
  field.value("chunks", v.chunks, kCount);
  field.value("bytes", v.bytes);
  field.paths("pinned", v.pinned);
}

static void visit_fields(Of<CacheFormat> auto& v, auto& field) {
  field.value("name", v.name, kRequired);
  field.value("bytes", v.bytes);
}

static void visit_fields(Of<CacheStatsResult> auto& v, auto& field) {
  field.list("tiers", v.tiers);
  field.list("models", v.models);
  field.list("roots", v.roots);
  field.object("reuse", v.reuse);
  field.value("queue_bytes", v.queue_bytes);
  field.value("unreferenced_bytes", v.unreferenced_bytes);
  field.list("other_formats", v.other_formats);
}

static void visit_fields(Of<CacheInspectParams> auto& v, auto& field) {
  field.path("directory", v.directory, Rule{.required = true, .absolute = true});
  field.path("path", v.path, kRequired);
}

static void visit_fields(Of<CacheChunk> auto& v, auto& field) {
  field.value("first_line", v.first_line, kCount);
  field.value("last_line", v.last_line, kCount);
  field.value("tokens", v.tokens, kCount);
  field.value("content", v.content);
  field.value("prefix", v.prefix);
  field.value("where", v.where);
  field.value("bytes", v.bytes);
  field.value("codec", v.codec);
  field.value("importance", v.importance);
  field.value("rebuild_ms", v.rebuild_ms);
  field.value("left", v.left);
}

static void visit_fields(Of<CacheInspectResult> auto& v, auto& field) {
  field.path("root", v.root);
  field.path("path", v.path);
  field.value("current", v.current);
  field.list("chunks", v.chunks);
}

static void visit_fields(Of<CacheEvictParams> auto& v, auto& field) {
  field.value("older_than_s", v.older_than_s, kCount);
  field.value("model", v.model);
  field.value("stale", v.stale);
  field.path("directory", v.directory, Rule{.absolute = true});
  field.paths("paths", v.paths);
  field.value("dry_run", v.dry_run);
}

static void visit_fields(Of<CacheClearParams> auto& v, auto& field) {
  field.value("dry_run", v.dry_run);
}

static void visit_fields(Of<CacheEvictResult> auto& v, auto& field) {
  field.value("records", v.records);
  field.value("bytes", v.bytes);
  field.value("dry_run", v.dry_run);
}

static void visit_fields(Of<CacheProgress> auto& v, auto& field) {
  field.value("done", v.done, kCount);
  field.value("total", v.total, kCount);
}

static void visit_fields(Of<CacheVerifyResult> auto& v, auto& field) {
  field.value("checked", v.checked);
  field.value("corrupt", v.corrupt);
  field.value("problem", v.problem);
}

static void visit_fields(Of<CachePinParams> auto& v, auto& field) {
  field.path("directory", v.directory, Rule{.required = true, .absolute = true});
  field.path("path", v.path, kRequired);
  field.value("remove", v.remove);
}

static void visit_fields(Of<CachePinResult> auto& v, auto& field) {
  field.path("root", v.root);
  field.paths("pins", v.pins);
}

static void visit_fields(Of<WarmingState> auto& v, auto& field) {
  field.path("root", v.root);
  field.value("files_done", v.files_done, kCount);
  field.value("files", v.files, kCount);
  field.value("tokens_per_second", v.tokens_per_second);
}

static void visit_fields(Of<RepositoryState> auto& v, auto& field) {
  field.path("root", v.root);
  field.value("branch", v.branch);
  field.value("head", v.head);
  field.value("watched_folders", v.watched_folders, kCount);
  field.value("note", v.note);
}

static void visit_fields(Of<StatusResult> auto& v, auto& field) {
  field.value("version", v.version);
  field.value("build", v.build);
  field.value("pid", v.pid);
  field.value("uptime_s", v.uptime_s);
  field.value("state", v.state);
  field.path("model", v.model);
  field.value("model_name", v.model_name);
  field.value("model_error", v.model_error);
  field.value("compute", v.compute);
  field.value("compute_reason", v.compute_reason);
  field.value("threads", v.threads, kCount);
  field.value("context", v.context, kCount);
  field.value("load_seconds", v.load_seconds);
  field.value("weight_bytes", v.weight_bytes);
  field.value("live_kv_bytes", v.live_kv_bytes);
  field.value("cached_kv_bytes", v.cached_kv_bytes);
  field.value("resident_bytes", v.resident_bytes);
  field.value("live_sequences", v.live_sequences, kCount);
  field.value("connections", v.connections, kCount);
  field.value("running", v.running, kCount);
  field.value("queued", v.queued, kCount);
  field.value("requests", v.requests, kCount);
  field.value("prompt_tokens", v.prompt_tokens, kCount);
  field.value("reused_tokens", v.reused_tokens, kCount);
  field.value("cancelled", v.cancelled, kCount);
  field.value("failed", v.failed, kCount);
  field.list("tiers", v.tiers);
  field.object("reuse", v.reuse);
  field.value("repair", v.repair);
  field.value("repair_reason", v.repair_reason);
  field.value("queue_bytes", v.queue_bytes);
  field.object("warming", v.warming);
  field.list("repositories", v.repositories);
  field.path("socket", v.socket);
  field.path("log_file", v.log_file);
  field.value("http", v.http);
  field.path("http_token_file", v.http_token_file);
}

KVBOOST_METHOD_STRUCT(WarmParams);
KVBOOST_METHOD_STRUCT(WarmProgress);
KVBOOST_METHOD_STRUCT(WarmResult);
KVBOOST_METHOD_STRUCT(SkippedParams);
KVBOOST_METHOD_STRUCT(SkippedResult);
KVBOOST_METHOD_STRUCT(CacheStatsResult);
KVBOOST_METHOD_STRUCT(CacheInspectParams);
KVBOOST_METHOD_STRUCT(CacheInspectResult);
KVBOOST_METHOD_STRUCT(CacheEvictParams);
KVBOOST_METHOD_STRUCT(CacheClearParams);
KVBOOST_METHOD_STRUCT(CacheEvictResult);
KVBOOST_METHOD_STRUCT(CacheProgress);
KVBOOST_METHOD_STRUCT(CacheVerifyResult);
KVBOOST_METHOD_STRUCT(CachePinParams);
KVBOOST_METHOD_STRUCT(CachePinResult);
KVBOOST_METHOD_STRUCT(StatusResult);

}  // namespace kvboost::protocol
