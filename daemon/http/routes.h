// SPDX-License-Identifier: Apache-2.0
// The paths that the daemon serves over HTTP, and what each translates a request into. Pure, any thread.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "daemon/http/exchange.h"

namespace kvboost::daemon {

/// `body` is an object; that of a GET is empty.
using Translate = ApiResult<Exchange> (*)(const nlohmann::json& body, const RequestDefaults& defaults);

struct Route {
  std::string_view verb;
  std::string_view path;
  ApiStyle style = ApiStyle::kLlama;
  Translate translate = nullptr;
  bool is_open = false;  // needs no token, and tells nothing of the user's
};

/// Whose errors a path's clients understand, whether it is served or not.
[[nodiscard]] ApiStyle style_of(std::string_view path);

/// `target` may end in a query, which is not looked at. 404, 405 (served, but not with this verb) or 501
/// (what llama.cpp's server has and this one has not).
[[nodiscard]] ApiResult<const Route*> find_route(std::string_view verb, std::string_view target);

/// The object in a request's body. 400 where there is none.
[[nodiscard]] ApiResult<Exchange> translate(const Route& route, std::string_view body,
                                            const RequestDefaults& defaults);

// Below: one function a path, in the .cpp that is named after its API.
[[nodiscard]] ApiResult<Exchange> infill(const nlohmann::json& body, const RequestDefaults& defaults);
[[nodiscard]] ApiResult<Exchange> completion(const nlohmann::json& body, const RequestDefaults& defaults);
[[nodiscard]] ApiResult<Exchange> tokenize(const nlohmann::json& body, const RequestDefaults& defaults);
[[nodiscard]] ApiResult<Exchange> detokenize(const nlohmann::json& body, const RequestDefaults& defaults);
[[nodiscard]] ApiResult<Exchange> apply_template(const nlohmann::json& body, const RequestDefaults& defaults);
[[nodiscard]] ApiResult<Exchange> health(const nlohmann::json& body, const RequestDefaults& defaults);
[[nodiscard]] ApiResult<Exchange> props(const nlohmann::json& body, const RequestDefaults& defaults);
[[nodiscard]] ApiResult<Exchange> metrics(const nlohmann::json& body, const RequestDefaults& defaults);
[[nodiscard]] ApiResult<Exchange> models(const nlohmann::json& body, const RequestDefaults& defaults);
[[nodiscard]] ApiResult<Exchange> text_completion(const nlohmann::json& body,
                                                  const RequestDefaults& defaults);
[[nodiscard]] ApiResult<Exchange> chat_completion(const nlohmann::json& body,
                                                  const RequestDefaults& defaults);

}  // namespace kvboost::daemon
