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

namespace kvboost::protocol {

/// Codes of the specification, and ours from -32001 down.
inline constexpr int kParseError = -32700;
inline constexpr int kInvalidRequest = -32600;
inline constexpr int kMethodNotFound = -32601;

/// Deepest nesting of arrays and objects in a message.
inline constexpr int kMaxDepth = 64;

using Id = std::variant<std::int64_t, std::string>;
[[nodiscard]] nlohmann::json encode_id(const Id& id);
[[nodiscard]] std::optional<Id> decode_id(const nlohmann::json& json);

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

/// One line, without its newline. Text that is not UTF-8 is sent with U+FFFD in place of the bad bytes.
[[nodiscard]] std::string serialise(const Message& message);

}  // namespace kvboost::protocol
