// SPDX-License-Identifier: Apache-2.0
// The paths of llama.cpp's server but /infill.
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "daemon/http/about_status.h"
#include "daemon/http/chat_messages.h"
#include "daemon/http/llama_answer.h"
#include "daemon/http/metrics_text.h"
#include "daemon/http/request_fields.h"
#include "daemon/http/routes.h"
#include "daemon/protocol/path_text.h"

namespace kvboost::daemon {
namespace {

using nlohmann::json;
using protocol::GenerateParams;
using protocol::GenerateResult;
using protocol::TokenizeResult;

/// One string, or one list of token ids.
void read_prompt(RequestFields& fields, GenerateParams& params) {
  const json* prompt = fields.find("prompt");
  if (prompt == nullptr) return fields.fail_with("prompt", "is missing");
  if (prompt->is_string()) {
    params.text = prompt->get<std::string>();
  } else if (auto tokens = fields.tokens("prompt")) {
    params.tokens = std::move(*tokens);
  }
}

std::string stop_type_of(const GenerateResult& result) {
  if (result.finish_reason == "end") return "eos";
  return result.finish_reason == "stop_string" ? "word" : "limit";
}

/// What the end of a text is told with.
struct Asked {
  GenerateParams params;
  std::vector<std::string> fields;  // of the answer; empty: all
  bool with_tokens = false;
};

json answer_of(const GenerateResult& result, const Asked& asked) {
  LlamaText text{.content = result.text,
                 .model = result.model,
                 .stop_type = stop_type_of(result),
                 .prompt_tokens = result.prompt_tokens,
                 .reused_tokens = result.reused_tokens,
                 .written_tokens = static_cast<std::int32_t>(result.tokens.size()),
                 .prompt_ms = result.timings.prefill_ms,
                 .written_ms = result.timings.decode_ms};
  if (text.stop_type == "word" && asked.params.stop.size() == 1)
    text.stopping_word = asked.params.stop.front();
  json answer = llama_answer(text);
  if (asked.with_tokens) answer["tokens"] = result.tokens;
  const GenerateParams& params = asked.params;
  answer["generation_settings"] = {{"n_predict", params.max_tokens},
                                   {"temperature", params.temperature},
                                   {"top_k", params.top_k},
                                   {"top_p", params.top_p},
                                   {"min_p", params.min_p},
                                   {"seed", params.seed},
                                   {"stop", params.stop}};
  return answer;
}

}  // namespace

ApiResult<Exchange> completion(const json& body, const RequestDefaults& defaults) {
  RequestFields fields(body);
  auto asked = std::make_shared<Asked>();
  asked->params.marks = true;
  read_prompt(fields, asked->params);
  read_generation(fields, defaults, asked->params);
  fields.refuse_above_one("n_cmpl", "one text is written for a request");
  asked->fields = fields.texts("response_fields");
  asked->with_tokens = fields.flag("return_tokens").value_or(false);
  Exchange exchange{.method = "generate", .stream = fields.flag("stream").value_or(false)};
  if (fields.error()) return std::unexpected(*fields.error());
  exchange.params = protocol::encode_text(asked->params);
  exchange.on_notification = [](const std::string& method, const json& params) -> std::string {
    if (method != "generate/token") return {};
    const auto piece = protocol::decode<protocol::GenerateToken>(params);
    if (!piece) return {};
    return event_of({{"index", 0}, {"content", piece->text}, {"tokens", json::array()}, {"stop", false}});
  };
  exchange.on_result =
      answer_with<GenerateResult>([asked, stream = exchange.stream](const GenerateResult& result) {
        json answer = answer_of(result, *asked);
        if (stream) answer["content"] = "";
        answer = chosen_fields(answer, asked->fields);
        return stream ? Answer{.body = event_of(answer)} : json_answer(answer);
      });
  return exchange;
}

ApiResult<Exchange> tokenize(const json& body, const RequestDefaults&) {
  RequestFields fields(body);
  protocol::TokenizeParams params;
  params.text = fields.text("content").value_or("");
  params.start = fields.flag("add_special").value_or(false);
  params.marks = fields.flag("parse_special").value_or(true);
  params.pieces = fields.flag("with_pieces").value_or(false);
  if (fields.error()) return std::unexpected(*fields.error());
  return Exchange{
      .method = "tokenize",
      .params = protocol::encode_text(params),
      .on_result = answer_with<TokenizeResult>([pieces = params.pieces](const TokenizeResult& result) {
        if (!pieces) return json_answer({{"tokens", result.tokens}});
        json tokens = json::array();
        for (std::size_t i = 0; i < result.tokens.size() && i < result.pieces.size(); ++i) {
          const std::string& piece = result.pieces[i];
          const std::vector<std::uint8_t> bytes(piece.begin(), piece.end());
          tokens.push_back(
              {{"id", result.tokens[i]}, {"piece", protocol::is_utf8(piece) ? json(piece) : json(bytes)}});
        }
        return json_answer({{"tokens", std::move(tokens)}});
      })};
}

ApiResult<Exchange> detokenize(const json& body, const RequestDefaults&) {
  RequestFields fields(body);
  protocol::DetokenizeParams params;
  params.tokens = fields.tokens("tokens").value_or(std::vector<std::int32_t>());
  if (fields.error()) return std::unexpected(*fields.error());
  return Exchange{.method = "detokenize",
                  .params = protocol::encode_text(params),
                  .on_result = answer_with<protocol::DetokenizeResult>([](const auto& result) {
                    return json_answer({{"content", result.text}});
                  })};
}

ApiResult<Exchange> apply_template(const json& body, const RequestDefaults&) {
  RequestFields fields(body);
  const protocol::TokenizeParams params{.messages = read_messages(fields), .pieces = true};
  if (fields.error()) return std::unexpected(*fields.error());
  return Exchange{.method = "tokenize",
                  .params = protocol::encode_text(params),
                  .on_result = answer_with<TokenizeResult>([](const TokenizeResult& result) {
                    std::string prompt;
                    for (const std::string& piece : result.pieces) prompt += piece;
                    return json_answer({{"prompt", prompt}});
                  })};
}

ApiResult<Exchange> health(const json&, const RequestDefaults&) {
  return about_status([](const protocol::StatusResult& status) -> Answer {
    std::string problem;
    if (status.state == "loading") problem = "Loading model";
    if (status.state == "leaving") problem = "the daemon is leaving";
    if (!status.model_error.empty()) problem = "the model cannot be loaded; `kvboost status` tells why";
    if (problem.empty()) return json_answer({{"status", "ok"}});
    return {.status = 503, .body = error_body(ApiStyle::kLlama, {503, problem})};
  });
}

ApiResult<Exchange> props(const json&, const RequestDefaults& defaults) {
  return about_status([defaults](const protocol::StatusResult& status) {
    json settings = {{"params",
                      {{"n_predict", defaults.max_tokens},
                       {"temperature", defaults.temperature},
                       {"top_k", defaults.top_k},
                       {"top_p", defaults.top_p},
                       {"min_p", defaults.min_p},
                       {"seed", -1}}}};
    if (status.context > 0) settings["n_ctx"] = status.context;  // known once the model was loaded
    return json_answer({{"default_generation_settings", std::move(settings)},
                        {"total_slots", 1},
                        {"model_alias", model_name(status)},
                        {"model_path", status.model},
                        {"modalities", {{"vision", false}, {"audio", false}}},
                        {"build_info", "kvboostd " + status.version},
                        {"is_sleeping", status.state == "idle"}});
  });
}

ApiResult<Exchange> metrics(const json&, const RequestDefaults&) {
  return about_status([](const protocol::StatusResult& status) -> Answer {
    return {.body = metrics_text(status), .content_type = "text/plain; version=0.0.4; charset=utf-8"};
  });
}

}  // namespace kvboost::daemon
