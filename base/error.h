// SPDX-License-Identifier: Apache-2.0
// Error and Result<T>: how every box reports failure. Values, no exceptions; free of threads and owners.
// A library's exceptions are caught in the .cpp that calls it and become one of these.
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <utility>

namespace kvboost {

enum class ErrorCode {
  kInvalidArgument,
  kNotFound,
  kCorrupt,
  kIo,
  kBusy,
  kCancelled,
  kModel,
  kProtocol,
  kInternal,
};

/// The code's name on the wire and in the log: "invalid_argument", "not_found", ...
std::string_view to_string(ErrorCode code);

/// What went wrong, for a person: `message` names the cause, `remedy` (may be empty) what to do about it.
struct Error {
  ErrorCode code = ErrorCode::kInternal;
  std::string message;
  std::string remedy;

  /// "message (remedy)", or the message alone.
  [[nodiscard]] std::string text() const;
};

template <class T>
using Result = std::expected<T, Error>;

[[nodiscard]] inline std::unexpected<Error> fail(ErrorCode code, std::string message,
                                                 std::string remedy = {}) {
  return std::unexpected(Error{code, std::move(message), std::move(remedy)});
}

/// Passes an error on: `if (!r) return fail(r.error());`
[[nodiscard]] inline std::unexpected<Error> fail(Error error) {
  return std::unexpected(std::move(error));
}

/// A failed system call: the message is "what: strerror(errno_value)".
[[nodiscard]] std::unexpected<Error> fail_errno(std::string_view what, int errno_value,
                                                std::string remedy = {});

}  // namespace kvboost
