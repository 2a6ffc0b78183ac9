// SPDX-License-Identifier: Apache-2.0
// The paths of OpenAI's API.
#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <utility>

#include "base/text.h"
#include "daemon/http/about_status.h"
#include "daemon/http/chat_messages.h"
#include "daemon/http/request_fields.h"
#include "daemon/http/routes.h"

namespace kvboost::daemon {
namespace {

using nlohmann::json;
using protocol::GenerateParams;
using protocol::GenerateResult;

std::int64_t now() {
  return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

/// Names one answer: clients tell them apart by it.
std::string new_id(const char* prefix) {
  std::random_device random;
  return formatted("%s-%08x%08x%08x", prefix, random(), random(), random());
}

std::string finish_reason_of(const GenerateResult& result) {
  return result.finish_reason == "end" || result.finish_reason == "stop_string" ? "stop" : "length";
}

json usage_of(const GenerateResult& result) {
  const auto written = static_cast<std::int32_t>(result.tokens.size());
  return {{"prompt_tokens", result.prompt_tokens},
          {"completion_tokens", written},
          {"total_tokens", result.prompt_tokens + written},
          {"prompt_tokens_details", {{"cached_tokens", result.reused_tokens}}}};
}

/// One answer, or the chunks of its stream: a chat's or a text's.
class Teller {
 public:
  Teller(bool chat, bool with_usage)
      : chat_(chat), with_usage_(with_usage), id_(new_id(chat ? "chatcmpl" : "cmpl")), created_(now()) {}

  std::string on_notification(const std::string& method, const json& params) {
    if (method == "generate/start") {
      if (const auto start = protocol::decode<protocol::GenerateStart>(params)) model_ = start->model;
      return {};
    }
    const auto piece = protocol::decode<protocol::GenerateToken>(params);
    return method == "generate/token" && piece ? opening() + event_of(chunk(delta(piece->text), nullptr))
                                               : std::string();
  }

  std::string last_events(const GenerateResult& result) {
    model_ = result.model;
    std::string events = opening();
    events += event_of(chunk(chat_ ? json::object() : json(""), finish_reason_of(result)));
    if (with_usage_) {
      json last = envelope(true);
      last["choices"] = json::array();
      last["usage"] = usage_of(result);
      events += event_of(last);
    }
    return events + event_text("[DONE]");
  }

  json whole(const GenerateResult& result) {
    model_ = result.model;
    json answer = envelope(false);
    json choice = {{"index", 0}, {"logprobs", nullptr}, {"finish_reason", finish_reason_of(result)}};
    if (chat_) {
      choice["message"] = {{"role", "assistant"}, {"content", result.text}};
    } else {
      choice["text"] = result.text;
    }
    answer["choices"] = json::array({std::move(choice)});
    answer["usage"] = usage_of(result);
    return answer;
  }

 private:
  [[nodiscard]] json envelope(bool streamed) const {
    const char* object = !chat_ ? "text_completion" : streamed ? "chat.completion.chunk" : "chat.completion";
    return {{"id", id_}, {"object", object}, {"created", created_}, {"model", model_}};
  }
  [[nodiscard]] json delta(const std::string& text) const {
    return chat_ ? json{{"content", text}} : json(text);
  }
  [[nodiscard]] json chunk(json what, json finish_reason) const {
    json answer = envelope(true);
    json choice = {{"index", 0}, {"logprobs", nullptr}, {"finish_reason", std::move(finish_reason)}};
    choice[chat_ ? "delta" : "text"] = std::move(what);
    answer["choices"] = json::array({std::move(choice)});
    return answer;
  }
  /// Once, before all else: a chat's first chunk says who speaks.
  std::string opening() {
    if (std::exchange(opened_, true) || !chat_) return {};
    return event_of(chunk({{"role", "assistant"}, {"content", ""}}, nullptr));
  }

  const bool chat_;
  const bool with_usage_;
  const std::string id_;
  const std::int64_t created_;
  std::string model_;
  bool opened_ = false;
};

bool wants_usage(RequestFields& fields) {
  const json* options = fields.find("stream_options");
  if (options == nullptr) return false;
  if (!options->is_object()) fields.fail_with("stream_options", "must be an object");
  return options->is_object() && options->contains("include_usage") && (*options)["include_usage"] == true;
}

void refuse_formats(RequestFields& fields) {
  const json* format = fields.find("response_format");
  if (format == nullptr) return;
  const bool is_text = format->is_object() && format->contains("type") && (*format)["type"] == "text";
  if (!is_text) fields.fail_with("response_format", "is not supported: the text is not held to a format");
}

void refuse_tools(RequestFields& fields) {
  const json* choice = fields.find("tool_choice");
  if (choice != nullptr && *choice == "none") return;
  fields.refuse_set("tools", "the model is not told of tools, and cannot call them");
  fields.refuse_set("functions", "the model is not told of functions, and cannot call them");
}

ApiResult<Exchange> generate(RequestFields& fields, const GenerateParams& params, bool chat) {
  Exchange exchange{.method = "generate", .stream = fields.flag("stream").value_or(false)};
  const auto teller = std::make_shared<Teller>(chat, wants_usage(fields));
  if (fields.error()) return std::unexpected(*fields.error());
  exchange.params = protocol::encode_text(params);
  exchange.on_notification = [teller](const std::string& method, const json& told) {
    return teller->on_notification(method, told);
  };
  exchange.on_result =
      answer_with<GenerateResult>([teller, stream = exchange.stream](const GenerateResult& result) {
        return stream ? Answer{.body = teller->last_events(result)} : json_answer(teller->whole(result));
      });
  return exchange;
}

/// A string, token ids, or a list of one string.
void read_prompt(RequestFields& fields, GenerateParams& params) {
  const json* prompt = fields.find("prompt");
  if (prompt == nullptr) return fields.fail_with("prompt", "is missing");
  if (prompt->is_array() && prompt->size() == 1 && (*prompt)[0].is_string()) prompt = &(*prompt)[0];
  if (prompt->is_string()) {
    params.text = prompt->get<std::string>();
  } else if (prompt->is_array() && prompt->size() > 1 && !(*prompt)[0].is_number()) {
    fields.fail_with("prompt", "may be one prompt only");
  } else if (auto tokens = fields.tokens("prompt")) {
    params.tokens = std::move(*tokens);
  }
}

}  // namespace

ApiResult<Exchange> models(const json&, const RequestDefaults&) {
  return about_status([](const protocol::StatusResult& status) {
    json list = json::array();
    if (const std::string name = model_name(status); !name.empty()) {
      json meta = {{"size", status.weight_bytes}};
      if (status.context > 0) meta["n_ctx"] = status.context;
      list.push_back({{"id", name},
                      {"object", "model"},
                      {"created", now() - static_cast<std::int64_t>(status.uptime_s)},
                      {"owned_by", "kvboost"},
                      {"meta", std::move(meta)}});
    }
    return json_answer({{"object", "list"}, {"data", std::move(list)}});
  });
}

ApiResult<Exchange> text_completion(const json& body, const RequestDefaults& defaults) {
  RequestFields fields(body);
  GenerateParams params;
  params.marks = true;
  read_prompt(fields, params);
  read_generation(fields, defaults, params);
  fields.refuse_set("echo", "the prompt is not written again");
  fields.refuse_set("suffix", "use /infill to fill in the middle");
  refuse_formats(fields);
  return generate(fields, params, false);
}

ApiResult<Exchange> chat_completion(const json& body, const RequestDefaults& defaults) {
  RequestFields fields(body);
  GenerateParams params;
  params.messages = read_messages(fields);
  read_generation(fields, defaults, params);
  refuse_formats(fields);
  refuse_tools(fields);
  fields.refuse_set("audio", "the model writes text only");
  return generate(fields, params, true);
}

}  // namespace kvboost::daemon
