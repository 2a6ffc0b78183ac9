// SPDX-License-Identifier: Apache-2.0
#include "daemon/protocol/method_codec.h"

namespace kvboost::protocol {

static void visit_fields(Of<ChatMessage> auto& v, auto& field) {
  field.choice("role", v.role, {"system", "user", "assistant"}, kRequired);
  field.value("content", v.content, kRequired);
}

static void visit_fields(Of<GenerateParams> auto& v, auto& field) {
  field.value("text", v.text);
  field.values("tokens", v.tokens);
  field.list("messages", v.messages);
  field.value("marks", v.marks);
  field.value("max_tokens", v.max_tokens, between(0, 1e6));
  field.values("stop", v.stop);
  field.value("temperature", v.temperature, between(0, 10));
  field.value("top_k", v.top_k, kCount);
  field.value("top_p", v.top_p, Rule{.low = 0, .high = 1, .low_excluded = true});
  field.value("min_p", v.min_p, between(0, 1));
  field.value("seed", v.seed);
  field.value("reuse", v.reuse);
}

static void visit_fields(Of<GenerateStart> auto& v, auto& field) {
  field.value("model", v.model, kRequired);
  field.value("prompt_tokens", v.prompt_tokens, kCount);
}

static void visit_fields(Of<GenerateToken> auto& v, auto& field) {
  field.value("text", v.text, kRequired);
}

static void visit_fields(Of<GenerateTimings> auto& v, auto& field) {
  field.value("queue_ms", v.queue_ms);
  field.value("prefill_ms", v.prefill_ms);
  field.value("decode_ms", v.decode_ms);
  field.value("tokens_per_second", v.tokens_per_second);
}

static void visit_fields(Of<GenerateResult> auto& v, auto& field) {
  field.value("text", v.text, kRequired);
  field.value("finish_reason", v.finish_reason);
  field.value("model", v.model);
  field.values("tokens", v.tokens);
  field.value("prompt_tokens", v.prompt_tokens, kCount);
  field.value("reused_tokens", v.reused_tokens, kCount);
  field.object("timings", v.timings);
}

static void visit_fields(Of<TokenizeParams> auto& v, auto& field) {
  field.value("text", v.text);
  field.list("messages", v.messages);
  field.value("marks", v.marks);
  field.value("start", v.start);
  field.value("pieces", v.pieces);
}

static void visit_fields(Of<TokenizeResult> auto& v, auto& field) {
  field.values("tokens", v.tokens);
  field.byte_strings("pieces", v.pieces);
}

static void visit_fields(Of<DetokenizeParams> auto& v, auto& field) {
  field.values("tokens", v.tokens);
}

static void visit_fields(Of<DetokenizeResult> auto& v, auto& field) {
  field.value("text", v.text, kRequired);
}

KVBOOST_METHOD_STRUCT(GenerateParams);
KVBOOST_METHOD_STRUCT(GenerateStart);
KVBOOST_METHOD_STRUCT(GenerateToken);
KVBOOST_METHOD_STRUCT(GenerateResult);
KVBOOST_METHOD_STRUCT(TokenizeParams);
KVBOOST_METHOD_STRUCT(TokenizeResult);
KVBOOST_METHOD_STRUCT(DetokenizeParams);
KVBOOST_METHOD_STRUCT(DetokenizeResult);

}  // namespace kvboost::protocol
