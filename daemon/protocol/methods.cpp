// SPDX-License-Identifier: Apache-2.0
// Each struct lists its fields once, in visit_fields (see method_codec.h).
#include "daemon/protocol/methods.h"

#include "daemon/protocol/method_codec.h"

namespace kvboost::protocol {

static void visit_fields(Of<Nothing> auto&, auto&) {}

static void visit_fields(Of<InitializeParams> auto& v, auto& field) {
  field.value("protocol_version", v.protocol_version, Rule{.required = true, .low = 1, .high = 1e6});
  field.value("client", v.client);
  field.value("build", v.build);
}

static void visit_fields(Of<InitializeResult> auto& v, auto& field) {
  field.value("protocol_version", v.protocol_version, Rule{.required = true, .low = 1, .high = 1e6});
  field.value("server", v.server);
  field.value("build", v.build);
  field.value("pid", v.pid);
  field.value("leaving", v.leaving);
  field.map("options", v.options);
}

static void visit_fields(Of<AskParams> auto& v, auto& field) {
  field.path("directory", v.directory, Rule{.required = true, .absolute = true});
  field.value("question", v.question, kRequired);
  field.paths("paths", v.paths);
  field.value("continue_conversation", v.continue_conversation);
  field.value("reuse", v.reuse);
  field.value("explain", v.explain);
  field.value("prompt_tokens", v.prompt_tokens, kCount);
  field.value("max_tokens", v.max_tokens, between(1, 1e6));
  field.value("temperature", v.temperature, between(0, 10));
  field.value("top_k", v.top_k, kCount);
  field.value("top_p", v.top_p, Rule{.low = 0, .high = 1, .low_excluded = true});
  field.value("min_p", v.min_p, between(0, 1));
  field.value("seed", v.seed);
}

static void visit_fields(Of<AskProgress> auto& v, auto& field) {
  field.value("stage", v.stage, kRequired);
  field.value("done", v.done, kCount);
  field.value("total", v.total, kCount);
}

static void visit_fields(Of<AskToken> auto& v, auto& field) {
  field.value("text", v.text, kRequired);
}

static void visit_fields(Of<AskFile> auto& v, auto& field) {
  field.path("path", v.path, kRequired);
  field.value("first_line", v.first_line, kCount);
  field.value("last_line", v.last_line, kCount);
  field.value("whole_file", v.whole_file);
  field.value("tokens", v.tokens, kCount);
  field.value("reused", v.reused, kCount);
  field.value("loaded", v.loaded, kCount);
  field.value("repaired", v.repaired, kCount);
  field.value("score", v.score);
}

static void visit_fields(Of<AskLeftOut> auto& v, auto& field) {
  field.path("path", v.path, kRequired);
  field.value("reason", v.reason);
}

static void visit_fields(Of<AskTimings> auto& v, auto& field) {
  field.value("lookup_ms", v.lookup_ms);
  field.value("queue_ms", v.queue_ms);
  field.value("load_ms", v.load_ms);
  field.value("select_ms", v.select_ms);
  field.value("prefill_ms", v.prefill_ms);
  field.value("first_token_ms", v.first_token_ms);
  field.value("decode_ms", v.decode_ms);
  field.value("tokens_per_second", v.tokens_per_second);
}

static void visit_fields(Of<AskResult> auto& v, auto& field) {
  field.value("text", v.text, kRequired);
  field.value("finish_reason", v.finish_reason);
  field.path("model", v.model);
  field.path("root", v.root);
  field.value("note", v.note);
  field.value("continues", v.continues);
  field.value("prompt_tokens", v.prompt_tokens, kCount);
  field.value("reused_tokens", v.reused_tokens, kCount);
  field.value("repaired_tokens", v.repaired_tokens, kCount);
  field.value("answer_tokens", v.answer_tokens, kCount);
  field.value("policy", v.policy);
  field.value("policy_reason", v.policy_reason);
  field.object("reuse", v.reuse);
  field.list("files", v.files);
  field.list("chunks", v.chunks);
  field.list("left_out", v.left_out);
  field.object("timings", v.timings);
}

static void visit_fields(Of<ModelEntry> auto& v, auto& field) {
  field.path("path", v.path, kRequired);
  field.value("name", v.name);
  field.value("origin", v.origin);
  field.value("architecture", v.architecture);
  field.value("quantisation", v.quantisation);
  field.value("bytes", v.bytes);
  field.value("in_use", v.in_use);
  field.value("problem", v.problem);
}

static void visit_fields(Of<ModelListResult> auto& v, auto& field) {
  field.list("models", v.models);
}

static void visit_fields(Of<ModelInfoParams> auto& v, auto& field) {
  field.path("model", v.model);
}

static void visit_fields(Of<ModelInfoResult> auto& v, auto& field) {
  field.object("entry", v.entry);
  field.map("details", v.details);
}

static void visit_fields(Of<ModelAddParams> auto& v, auto& field) {
  field.path("path", v.path, Rule{.required = true, .absolute = true});
}

static void visit_fields(Of<ModelUseParams> auto& v, auto& field) {
  field.path("model", v.model, kRequired);
}

static void visit_fields(Of<ModelCheckParams> auto& v, auto& field) {
  field.value("again", v.again);
}

static void visit_fields(Of<CheckProgress> auto& v, auto& field) {
  field.value("percent", v.percent, between(0, 100));
}

static void visit_fields(Of<PolicyTrial> auto& v, auto& field) {
  field.value("behind", v.behind, kRequired);
  field.value("policy", v.policy, kRequired);
  field.value("kl_mean", v.kl_mean);
  field.value("kl_worst", v.kl_worst);
  field.value("top1", v.top1);
  field.value("computed", v.computed);
  field.value("ratio", v.ratio);
  field.value("passed", v.passed);
}

static void visit_fields(Of<ModelCheckResult> auto& v, auto& field) {
  field.path("model", v.model);
  field.value("policy", v.policy, kRequired);
  field.value("reason", v.reason);
  field.value("header_policy", v.header_policy);
  field.value("header_reason", v.header_reason);
  field.value("tolerance", v.tolerance);
  field.list("trials", v.trials);
}

static void visit_fields(Of<DoctorCheck> auto& v, auto& field) {
  field.value("name", v.name, kRequired);
  field.value("verdict", v.verdict, kRequired);
  field.value("detail", v.detail);
  field.value("remedy", v.remedy);
}

static void visit_fields(Of<DoctorResult> auto& v, auto& field) {
  field.list("checks", v.checks);
}

static void visit_fields(Of<ShutdownParams> auto& v, auto& field) {
  field.value("cancel", v.cancel);
}

KVBOOST_METHOD_STRUCT(Nothing);
KVBOOST_METHOD_STRUCT(InitializeParams);
KVBOOST_METHOD_STRUCT(InitializeResult);
KVBOOST_METHOD_STRUCT(AskParams);
KVBOOST_METHOD_STRUCT(AskProgress);
KVBOOST_METHOD_STRUCT(AskToken);
KVBOOST_METHOD_STRUCT(AskFile);
KVBOOST_METHOD_STRUCT(AskChunk);
KVBOOST_METHOD_STRUCT(AskLeftOut);
KVBOOST_METHOD_STRUCT(AskTimings);
KVBOOST_METHOD_STRUCT(AskResult);
KVBOOST_METHOD_STRUCT(ModelEntry);
KVBOOST_METHOD_STRUCT(ModelListResult);
KVBOOST_METHOD_STRUCT(ModelInfoParams);
KVBOOST_METHOD_STRUCT(ModelInfoResult);
KVBOOST_METHOD_STRUCT(ModelAddParams);
KVBOOST_METHOD_STRUCT(ModelUseParams);
KVBOOST_METHOD_STRUCT(ModelCheckParams);
KVBOOST_METHOD_STRUCT(CheckProgress);
KVBOOST_METHOD_STRUCT(PolicyTrial);
KVBOOST_METHOD_STRUCT(ModelCheckResult);
KVBOOST_METHOD_STRUCT(DoctorCheck);
KVBOOST_METHOD_STRUCT(DoctorResult);
KVBOOST_METHOD_STRUCT(ShutdownParams);

}  // namespace kvboost::protocol
