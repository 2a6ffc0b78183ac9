// SPDX-License-Identifier: Apache-2.0
#include "daemon/protocol/method_codec.h"

namespace kvboost::protocol {

static void visit_fields(Of<CompletePlace> auto& v, auto& field) {
  field.path("path", v.path, kRequired);
  field.value("line", v.line, Rule{.low = 1});
}

static void visit_fields(Of<CompleteExtra> auto& v, auto& field) {
  field.path("name", v.name);
  field.value("text", v.text, kRequired);
}

static void visit_fields(Of<CompleteParams> auto& v, auto& field) {
  field.path("directory", v.directory, Rule{.required = true, .absolute = true});
  field.path("path", v.path, kRequired);
  field.value("text", v.text, kRequired);
  field.value("offset", v.offset, kRequired);
  field.value("client", v.client);
  field.choice("shape", v.shape, {"auto", "line", "block"});
  field.list("ring", v.ring);
  field.value("alternatives", v.alternatives, between(1, 16));
  field.value("max_tokens", v.max_tokens, between(0, 4096));
  field.value("budget_ms", v.budget_ms, between(0, 1e9));
  field.value("ahead", v.ahead);
  field.value("reuse", v.reuse);
  field.value("explain", v.explain);
  field.list("extra", v.extra);
  field.value("write_ms", v.write_ms, between(0, 1e9));
  field.value("supersede", v.supersede);
}

static void visit_fields(Of<CompleteToken> auto& v, auto& field) {
  field.value("text", v.text, kRequired);
}

static void visit_fields(Of<CompleteHint> auto& v, auto& field) {
  field.value("text", v.text, kRequired);
  field.value("finish_reason", v.finish_reason);
}

static void visit_fields(Of<CompleteTimings> auto& v, auto& field) {
  field.value("lookup_ms", v.lookup_ms);
  field.value("queue_ms", v.queue_ms);
  field.value("load_ms", v.load_ms);
  field.value("select_ms", v.select_ms);
  field.value("prefill_ms", v.prefill_ms);
  field.value("suffix_ms", v.suffix_ms);
  field.value("first_token_ms", v.first_token_ms);
  field.value("decode_ms", v.decode_ms);
  field.value("total_ms", v.total_ms);
}

static void visit_fields(Of<CompleteResult> auto& v, auto& field) {
  field.list("hints", v.hints);
  field.value("offset", v.offset, kCount);
  field.value("shape", v.shape);
  field.value("method", v.method);
  field.value("family", v.family);
  field.value("origin", v.origin);
  field.value("note", v.note);
  field.value("incomplete", v.incomplete);
  field.value("model", v.model);
  field.path("root", v.root);
  field.value("prompt_tokens", v.prompt_tokens, kCount);
  field.value("live_tokens", v.live_tokens, kCount);
  field.value("loaded_tokens", v.loaded_tokens, kCount);
  field.value("computed_tokens", v.computed_tokens, kCount);
  field.value("repaired_tokens", v.repaired_tokens, kCount);
  field.value("written_tokens", v.written_tokens, kCount);
  field.value("policy", v.policy);
  field.value("policy_reason", v.policy_reason);
  field.list("chunks", v.chunks);
  field.object("timings", v.timings);
}

KVBOOST_METHOD_STRUCT(CompleteParams);
KVBOOST_METHOD_STRUCT(CompleteToken);
KVBOOST_METHOD_STRUCT(CompleteResult);

}  // namespace kvboost::protocol
