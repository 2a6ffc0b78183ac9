// SPDX-License-Identifier: Apache-2.0
#include "daemon/protocol/method_codec.h"

namespace kvboost::protocol {

static void visit_fields(Of<SearchParams> auto& v, auto& field) {
  field.path("directory", v.directory, Rule{.required = true, .absolute = true});
  field.value("query", v.query, kRequired);
  field.paths("paths", v.paths);
  field.value("top", v.top, between(1, 100));
}

static void visit_fields(Of<SearchProgress> auto& v, auto& field) {
  field.value("stage", v.stage, kRequired);
  field.value("done", v.done, kCount);
  field.value("total", v.total, kCount);
}

static void visit_fields(Of<SearchSpan> auto& v, auto& field) {
  field.path("path", v.path, kRequired);
  field.value("first_line", v.first_line, kCount);
  field.value("last_line", v.last_line, kCount);
  field.value("score", v.score);
  field.value("text", v.text);
}

static void visit_fields(Of<SearchResult> auto& v, auto& field) {
  field.path("root", v.root, kRequired);
  field.value("note", v.note);
  field.list("spans", v.spans);
}

KVBOOST_METHOD_STRUCT(SearchParams);
KVBOOST_METHOD_STRUCT(SearchProgress);
KVBOOST_METHOD_STRUCT(SearchResult);

}  // namespace kvboost::protocol
