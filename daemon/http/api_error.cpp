// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/api_error.h"

#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "daemon/http/exchange.h"

namespace kvboost::daemon {
namespace {

using nlohmann::json;

std::string_view type_of(unsigned status) {
  switch (status) {
    case 401:
      return "authentication_error";
    case 403:
      return "permission_error";
    case 404:
      return "not_found_error";
    case 500:
      return "server_error";
    case 501:
      return "not_supported_error";
    case 503:
      return "unavailable_error";
    default:
      return "invalid_request_error";
  }
}

unsigned status_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument:
      return 400;
    case ErrorCode::kBusy:
    case ErrorCode::kCancelled:
    case ErrorCode::kModel:
    case ErrorCode::kNotFound:  // the model's file: the path of the request is there
      return 503;
    default:
      return 500;
  }
}

}  // namespace

ApiError to_api_error(const Error& error) {
  return {status_of(error.code), error.text()};
}

std::string error_body(ApiStyle style, const ApiError& error) {
  json body = {{"message", error.message}, {"type", type_of(error.status)}};
  if (style == ApiStyle::kLlama) {
    body["code"] = error.status;
  } else {
    body["param"] = error.param.empty() ? json() : json(error.param);
    body["code"] = nullptr;
  }
  return json_text({{"error", std::move(body)}});
}

}  // namespace kvboost::daemon
