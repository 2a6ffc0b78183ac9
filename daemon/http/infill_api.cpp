// SPDX-License-Identifier: Apache-2.0
// POST /infill of llama.cpp's server: `complete` for a buffer that the client tells of in pieces.
#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "daemon/http/answer_with.h"
#include "daemon/http/llama_answer.h"
#include "daemon/http/request_fields.h"
#include "daemon/http/routes.h"

namespace kvboost::daemon {
namespace {

using nlohmann::json;
using protocol::CompleteParams;
using protocol::CompleteResult;

constexpr std::int64_t kMostTokens = 4096;
constexpr std::int64_t kMostAlternatives = 16;

/// What the answer depends on beside the hints.
struct Asked {
  std::vector<std::string> stop;
  std::vector<std::string> fields;  // of the answer; empty: all
  bool only_reads = false;          // n_predict is 0: the context is to be read ahead
  bool as_list = false;             // of alternatives
  bool stream = false;
};

void read_extra(RequestFields& fields, CompleteParams& params) {
  const json* extra = fields.find("input_extra");
  if (extra == nullptr) return;
  const auto is_extra = [](const json& one) {
    return one.is_object() && one.contains("text") && one["text"].is_string();
  };
  if (!extra->is_array() || !std::ranges::all_of(*extra, is_extra))
    return fields.fail_with("input_extra", "must be a list of objects with a text, and a filename");
  for (const json& one : *extra)
    params.extra.push_back({text_field(one, "filename"), text_field(one, "text")});
}

/// A field that llama.cpp's server has not: the buffer's file, so that its language and its work tree count.
void read_path(RequestFields& fields, CompleteParams& params) {
  params.path = fields.text("path").value_or("");
  params.directory = "/";
  if (params.path.empty()) return;
  if (!params.path.starts_with('/')) return fields.fail_with("path", "must be absolute");
  params.directory = std::filesystem::path(params.path).parent_path().string();
  params.shape = "auto";
}

CompleteParams read_params(RequestFields& fields, Asked& asked) {
  CompleteParams params;
  params.client = "http";
  params.supersede = false;  // whose requests these are is not known
  params.shape = "block";    // clients show as much of it as they like
  read_path(fields, params);
  const std::string before = fields.text("input_prefix").value_or("") + fields.text("prompt").value_or("");
  params.text = before + fields.text("input_suffix").value_or("");
  params.offset = static_cast<std::int64_t>(before.size());
  read_extra(fields, params);
  const std::int64_t length = fields.integer("n_predict").value_or(-1);
  asked.only_reads = length == 0;
  params.max_tokens =
      static_cast<std::int32_t>(length < 0 ? 0 : std::clamp<std::int64_t>(length, 1, kMostTokens));
  const std::int64_t wanted = fields.integer("n_cmpl").value_or(1);
  asked.as_list = wanted > 1 && !asked.only_reads;
  if (asked.as_list) params.alternatives = static_cast<std::int32_t>(std::min(wanted, kMostAlternatives));
  params.write_ms = std::clamp(fields.number("t_max_predict_ms").value_or(0), 0.0, 1e9);
  params.reuse = fields.flag("cache_prompt").value_or(true);
  return params;
}

std::string cut_at(std::string text, const std::vector<std::string>& stops) {
  for (const std::string& stop : stops) {
    if (!stop.empty()) text.resize(std::min(text.find(stop), text.size()));
  }
  return text;
}

LlamaText text_of(const CompleteResult& result, const Asked& asked, std::size_t index) {
  LlamaText text{.model = result.model, .stop_type = "eos"};
  text.prompt_tokens = result.prompt_tokens;
  text.reused_tokens = result.live_tokens + result.loaded_tokens;
  text.prompt_ms = result.timings.load_ms + result.timings.select_ms + result.timings.prefill_ms +
                   result.timings.suffix_ms;
  if (asked.only_reads) {
    text.stop_type = "limit";
    return text;
  }
  text.written_tokens = result.written_tokens;
  text.written_ms = result.timings.decode_ms;
  if (index >= result.hints.size()) return text;
  const protocol::CompleteHint& hint = result.hints[index];
  text.content = cut_at(hint.text, asked.stop);
  if (text.content.size() < hint.text.size()) {
    text.stop_type = "word";
  } else if (hint.finish_reason == "length" || hint.finish_reason == "time" ||
             hint.finish_reason == "context" || hint.finish_reason == "repetition") {
    text.stop_type = "limit";
  }
  return text;
}

json answer_of(const CompleteResult& result, const Asked& asked) {
  if (!asked.as_list) return chosen_fields(llama_answer(text_of(result, asked, 0)), asked.fields);
  json list = json::array();
  for (std::size_t i = 0; i < std::max<std::size_t>(1, result.hints.size()); ++i) {
    json answer = llama_answer(text_of(result, asked, i));
    answer["index"] = i;
    list.push_back(chosen_fields(answer, asked.fields));
  }
  return list;
}

}  // namespace

ApiResult<Exchange> infill(const json& body, const RequestDefaults&) {
  RequestFields fields(body);
  auto asked = std::make_shared<Asked>();
  const CompleteParams params = read_params(fields, *asked);
  asked->stop = fields.texts("stop");
  asked->fields = fields.texts("response_fields");
  asked->stream = fields.flag("stream").value_or(false);
  fields.refuse_unserved();
  if (asked->stream && asked->as_list) fields.fail_with("n_cmpl", "is not supported above 1 with stream");
  if (fields.error()) return std::unexpected(*fields.error());
  // A hint is trimmed once it is whole, so a stream has it in one piece.
  return Exchange{.method = "complete",
                  .params = protocol::encode_text(params),
                  .stream = asked->stream,
                  .on_result = answer_with<CompleteResult>([asked](const CompleteResult& result) {
                    const json answer = answer_of(result, *asked);
                    return asked->stream ? Answer{.body = event_of(answer)} : json_answer(answer);
                  })};
}

}  // namespace kvboost::daemon
