// SPDX-License-Identifier: Apache-2.0
#include "daemon/protocol/method_codec.h"

namespace kvboost::protocol {

static void visit_fields(Of<LocateParams> auto& v, auto& field) {
  field.path("directory", v.directory, Rule{.required = true, .absolute = true});
  field.value("report", v.report, kRequired);
  field.paths("paths", v.paths);
  field.value("top", v.top, between(1, 1000));
  field.value("functions", v.functions, between(0, 100));
  field.value("all_files", v.all_files);
  field.value("model", v.model);
  field.value("reuse", v.reuse);
  field.value("read_files", v.read_files, between(1, 1000));
  field.value("budget_s", v.budget_s, between(0, 1e6));
}

static void visit_fields(Of<LocateProgress> auto& v, auto& field) {
  field.value("stage", v.stage, kRequired);
  field.value("done", v.done, kCount);
  field.value("total", v.total, kCount);
}

static void visit_fields(Of<LocateFunction> auto& v, auto& field) {
  field.value("name", v.name, kRequired);
  field.value("first_line", v.first_line, kCount);
  field.value("last_line", v.last_line, kCount);
}

static void visit_fields(Of<LocateScore> auto& v, auto& field) {
  field.value("ranker", v.ranker, kRequired);
  field.value("score", v.score);
}

static void visit_fields(Of<LocateFile> auto& v, auto& field) {
  field.path("path", v.path, kRequired);
  field.value("line", v.line, kCount);
  field.value("text", v.text);
  field.value("score", v.score);
  field.list("scores", v.scores);
  field.list("functions", v.functions);
}

static void visit_fields(Of<LocateRanking> auto& v, auto& field) {
  field.value("ranker", v.ranker, kRequired);
  field.list("files", v.files);
}

static void visit_fields(Of<LocateTimings> auto& v, auto& field) {
  field.value("refresh_ms", v.refresh_ms);
  field.value("words_ms", v.words_ms);
  field.value("queue_ms", v.queue_ms);
  field.value("model_ms", v.model_ms);
  field.value("total_ms", v.total_ms);
}

static void visit_fields(Of<LocateResult> auto& v, auto& field) {
  field.path("root", v.root, kRequired);
  field.value("note", v.note);
  field.value("incomplete", v.incomplete);
  field.value("model", v.model);
  field.list("files", v.files);
  field.value("candidates", v.candidates, kCount);
  field.value("model_files", v.model_files, kCount);
  field.value("placed_tokens", v.placed_tokens, kCount);
  field.value("computed_tokens", v.computed_tokens, kCount);
  field.value("report_read", v.report_read, kCount);
  field.value("report_tokens", v.report_tokens, kCount);
  field.object("timings", v.timings);
}

KVBOOST_METHOD_STRUCT(LocateParams);
KVBOOST_METHOD_STRUCT(LocateProgress);
KVBOOST_METHOD_STRUCT(LocateRanking);
KVBOOST_METHOD_STRUCT(LocateResult);

}  // namespace kvboost::protocol
