// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/routes.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "daemon/protocol/rpc.h"

namespace kvboost::daemon {
namespace {

using nlohmann::json;
using enum ApiStyle;

constexpr auto kRoutes = std::to_array<Route>({
    {"POST", "/infill", kLlama, infill},
    {"POST", "/completion", kLlama, completion},
    {"POST", "/completions", kLlama, completion},
    {"POST", "/tokenize", kLlama, tokenize},
    {"POST", "/detokenize", kLlama, detokenize},
    {"POST", "/apply-template", kLlama, apply_template},
    {"GET", "/health", kLlama, health, true},
    {"GET", "/v1/health", kLlama, health, true},
    {"GET", "/props", kLlama, props},
    {"GET", "/metrics", kLlama, metrics},
    {"GET", "/models", kOpenAi, models},
    {"GET", "/v1/models", kOpenAi, models},
    {"POST", "/v1/completions", kOpenAi, text_completion},
    {"POST", "/chat/completions", kOpenAi, chat_completion},
    {"POST", "/v1/chat/completions", kOpenAi, chat_completion},
});

/// Of llama.cpp's server.
constexpr auto kUnserved = std::to_array<std::string_view>(
    {"/embedding", "/embeddings", "/v1/embeddings", "/rerank", "/reranking", "/v1/rerank", "/v1/reranking",
     "/slots", "/lora-adapters", "/v1/messages", "/v1/responses"});

std::string_view path_of(std::string_view target) {
  return target.substr(0, target.find('?'));
}

}  // namespace

ApiStyle style_of(std::string_view path) {
  return path.starts_with("/v1/") || path.starts_with("/chat/") || path == "/models" ? kOpenAi : kLlama;
}

ApiResult<const Route*> find_route(std::string_view verb, std::string_view target) {
  const std::string_view path = path_of(target);
  const auto* same_path = std::ranges::find(kRoutes, path, &Route::path);
  if (same_path != kRoutes.end() && same_path->verb == verb) return same_path;
  if (same_path != kRoutes.end()) {
    const std::string takes(same_path->verb);
    return std::unexpected(ApiError{405, std::string(path) + " takes " + takes, {}, takes});
  }
  if (std::ranges::find(kUnserved, path) != kUnserved.end())
    return refuse(501, "kvboostd does not do what " + std::string(path) + " is for");
  return refuse(404, "there is nothing at this path; docs/http.md lists what there is");
}

ApiResult<Exchange> translate(const Route& route, std::string_view body, const RequestDefaults& defaults) {
  if (route.verb == "GET") return route.translate(json::object(), defaults);
  if (protocol::nests_too_deep(body))
    return refuse(400, "the body nests deeper than " + std::to_string(protocol::kMaxDepth) + " levels");
  const json object = json::parse(body, nullptr, /*allow_exceptions=*/false);
  if (object.is_discarded()) return refuse(400, "the body is not JSON in UTF-8");
  if (!object.is_object()) return refuse(400, "the body must be a JSON object");
  return route.translate(object, defaults);
}

}  // namespace kvboost::daemon
