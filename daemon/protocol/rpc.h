// SPDX-License-Identifier: Apache-2.0
// JSON-RPC 2.0 messages as typed values, and kvboost::Error as a JSON-RPC error and back. Plain values, any
// thread. PROTOCOL.md says what is allowed; batches are not.
#pragma once

#include <cstdint>
#include <expected>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "base/error.h"
#include "daemon/protocol/message_id.h"

namespace kvboost::protocol {

/// Codes of the specification, and ours from -32001 down.
inline constexpr int kParseError = -32700;
inline constexpr int kInvalidRequest = -32600;
inline constexpr int kMethodNotFound = -32601;

/// Deepest nesting of arrays and objects in a message.
inline constexpr int kMaxDepth = 64;

/// Whether JSON nests deeper than that; the text need not be JSON.
[[nodiscard]] bool nests_too_deep(std::string_view text);

struct RpcError {
  int code = 0;
  std::string message;
  std::string kind;    // data.code: "not_found"
  std::string remedy;  // data.remedy, may be empty
};
[[nodiscard]] RpcError to_rpc_error(const Error& error);
/// By `kind` where it is one that we know, else by the number.
[[nodiscard]] Error to_error(const RpcError& error);

struct Request {
  Id id;
  std::string method;
  nlohmann::json params;  // an object, or null when left out
};
struct Notification {
  std::string method;
  nlohmann::json params;
};
struct Response {
  std::optional<Id> id;  // absent (null on the wire): an answer to what could not be read
  std::expected<nlohmann::json, RpcError> result;
};
using Message = std::variant<Request, Notification, Response>;

/// Why a line is no message; `id` as far as it could be read, for the answer.
struct ParseFailure {
  std::optional<Id> id;
  RpcError error;
};
[[nodiscard]] std::expected<Message, ParseFailure> parse_message(std::string_view line);

/// One line, without its newline, as are those below. Text that is not UTF-8 is sent with U+FFFD in place of
/// the bad bytes.
[[nodiscard]] std::string serialise(const Message& message);

/// A response whose result is JSON text already (encode_text).
[[nodiscard]] std::string result_line(const Id& id, std::string_view result);
[[nodiscard]] std::string error_line(const std::optional<Id>& id, const RpcError& error);
/// A notification that belongs to request `id`: `params` is the text of an object, which gets "id" put in
/// front.
[[nodiscard]] std::string notification_line(std::string_view method, const Id& id, std::string_view params);

}  // namespace kvboost::protocol
