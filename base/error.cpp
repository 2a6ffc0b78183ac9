// SPDX-License-Identifier: Apache-2.0
#include "base/error.h"

#include <cerrno>
#include <system_error>

namespace kvboost {

std::string_view to_string(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument:
      return "invalid_argument";
    case ErrorCode::kNotFound:
      return "not_found";
    case ErrorCode::kCorrupt:
      return "corrupt";
    case ErrorCode::kIo:
      return "io";
    case ErrorCode::kBusy:
      return "busy";
    case ErrorCode::kCancelled:
      return "cancelled";
    case ErrorCode::kModel:
      return "model";
    case ErrorCode::kProtocol:
      return "protocol";
    case ErrorCode::kInternal:
      return "internal";
  }
  return "internal";
}

std::string Error::text() const {
  return remedy.empty() ? message : message + " (" + remedy + ")";
}

std::unexpected<Error> fail_errno(std::string_view what, int errno_value, std::string remedy) {
  const ErrorCode code = errno_value == ENOENT ? ErrorCode::kNotFound : ErrorCode::kIo;
  return fail(code, std::string(what) + ": " + std::generic_category().message(errno_value),
              std::move(remedy));
}

}  // namespace kvboost
