// SPDX-License-Identifier: Apache-2.0
// ApiError: why a request is not served, with its HTTP status, and how each API tells its clients. Plain
// values, any thread.
#pragma once

#include <expected>
#include <string>
#include <utility>

#include "base/error.h"

namespace kvboost::daemon {

/// Whose shape a path's answers and errors have.
enum class ApiStyle { kLlama, kOpenAi };

struct ApiError {
  unsigned status = 500;
  std::string message;
  std::string param{};  // the field that is wrong, or empty
  std::string allow{};  // 405: the verb that the path takes
};

template <class T>
using ApiResult = std::expected<T, ApiError>;

[[nodiscard]] inline std::unexpected<ApiError> refuse(unsigned status, std::string message,
                                                      std::string param = {}) {
  return std::unexpected(ApiError{status, std::move(message), std::move(param)});
}

/// What a method of the daemon has failed with.
[[nodiscard]] ApiError to_api_error(const Error& error);

/// As one JSON object: the body of an answer, or of an event.
[[nodiscard]] std::string error_body(ApiStyle style, const ApiError& error);

}  // namespace kvboost::daemon
