// SPDX-License-Identifier: Apache-2.0
#include "daemon/protocol/rpc.h"

#include <algorithm>
#include <array>

namespace kvboost::protocol {
namespace {

using nlohmann::json;

struct CodePair {
  ErrorCode code;
  int number;
};
constexpr std::array<CodePair, 9> kCodes = {{
    {ErrorCode::kInvalidArgument, -32602},
    {ErrorCode::kInternal, -32603},
    {ErrorCode::kNotFound, -32001},
    {ErrorCode::kCorrupt, -32002},
    {ErrorCode::kIo, -32003},
    {ErrorCode::kBusy, -32004},
    {ErrorCode::kCancelled, -32005},
    {ErrorCode::kModel, -32006},
    {ErrorCode::kProtocol, -32007},
}};

RpcError protocol_error(int code, std::string message) {
  return {code, std::move(message), std::string(to_string(ErrorCode::kProtocol)), ""};
}

std::string text_field(const json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

std::optional<RpcError> parse_rpc_error(const json& object) {
  if (!object.is_object()) return std::nullopt;
  const auto code = object.find("code");
  if (code == object.end() || !code->is_number_integer()) return std::nullopt;
  RpcError error;
  const auto number = code->get<std::int64_t>();
  error.code = std::in_range<int>(number) ? static_cast<int>(number) : kInvalidRequest;
  error.message = text_field(object, "message");
  if (const auto data = object.find("data"); data != object.end() && data->is_object()) {
    error.kind = text_field(*data, "code");
    error.remedy = text_field(*data, "remedy");
  }
  return error;
}

std::expected<Message, ParseFailure> parse_response(json& object, std::optional<Id> id) {
  const auto result = object.find("result");
  const auto error = object.find("error");
  const auto invalid = [&](std::string message) {
    return std::unexpected(ParseFailure{id, protocol_error(kInvalidRequest, std::move(message))});
  };
  if (result == object.end() && error == object.end()) {
    return invalid("a message needs a method, a result or an error");
  }
  if (result != object.end() && error != object.end()) return invalid("a response has a result or an error");
  if (result != object.end()) {
    if (!id) return invalid("a result needs an id");
    return Response{id, std::move(*result)};
  }
  auto parsed = parse_rpc_error(*error);
  if (!parsed) return invalid("error: expected an object with a code");
  return Response{id, std::unexpected(std::move(*parsed))};
}

std::expected<Message, ParseFailure> parse_object(json& object) {
  std::optional<Id> id;
  const auto id_field = object.find("id");
  if (id_field != object.end()) id = decode_id(*id_field);
  const auto invalid = [&](std::string message) {
    return std::unexpected(ParseFailure{id, protocol_error(kInvalidRequest, std::move(message))});
  };
  if (text_field(object, "jsonrpc") != "2.0") return invalid("jsonrpc: expected \"2.0\"");
  const bool null_id = id_field != object.end() && id_field->is_null();
  if (id_field != object.end() && !id && !null_id) return invalid("id: expected a string or an integer");
  const auto method = object.find("method");
  if (method == object.end()) return parse_response(object, std::move(id));
  if (!method->is_string()) return invalid("method: expected a string");
  if (null_id) return invalid("id: a request's id may not be null");
  json params;
  if (const auto found = object.find("params"); found != object.end()) params = std::move(*found);
  if (!params.is_object() && !params.is_null()) return invalid("params: expected an object");
  auto name = method->get<std::string>();
  if (!id) return Notification{std::move(name), std::move(params)};
  return Request{std::move(*id), std::move(name), std::move(params)};
}

json encode_error(const RpcError& error) {
  json object = {{"code", error.code}, {"message", error.message}};
  if (!error.kind.empty()) object["data"]["code"] = error.kind;
  if (!error.remedy.empty()) object["data"]["remedy"] = error.remedy;
  return object;
}

std::string to_text(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

json to_json(const Request& request) {
  json object = {{"jsonrpc", "2.0"}, {"id", encode_id(request.id)}, {"method", request.method}};
  if (!request.params.is_null()) object["params"] = request.params;
  return object;
}

json to_json(const Notification& notification) {
  json object = {{"jsonrpc", "2.0"}, {"method", notification.method}};
  if (!notification.params.is_null()) object["params"] = notification.params;
  return object;
}

json to_json(const Response& response) {
  json object = {{"jsonrpc", "2.0"}, {"id", response.id ? encode_id(*response.id) : json()}};
  if (response.result) {
    object["result"] = *response.result;
  } else {
    object["error"] = encode_error(response.result.error());
  }
  return object;
}

}  // namespace

/// Brackets inside strings do not count.
bool nests_too_deep(std::string_view text) {
  int depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char letter = text[i];
    if (in_string) {
      if (letter == '\\') ++i;
      if (letter == '"') in_string = false;
    } else if (letter == '"') {
      in_string = true;
    } else if (letter == '[' || letter == '{') {
      if (++depth > kMaxDepth) return true;
    } else if (letter == ']' || letter == '}') {
      --depth;
    }
  }
  return false;
}

json encode_id(const Id& id) {
  return std::visit([](const auto& value) { return json(value); }, id);
}

std::optional<Id> decode_id(const json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_number_integer()) return std::nullopt;
  if (value.is_number_unsigned() && !std::in_range<std::int64_t>(value.get<std::uint64_t>()))
    return std::nullopt;
  return value.get<std::int64_t>();
}

RpcError to_rpc_error(const Error& error) {
  const auto found = std::ranges::find(kCodes, error.code, &CodePair::code);
  return {found->number, error.message, std::string(to_string(error.code)), error.remedy};
}

Error to_error(const RpcError& error) {
  for (const CodePair& pair : kCodes) {
    if (error.kind == to_string(pair.code)) return {pair.code, error.message, error.remedy};
  }
  const auto found = std::ranges::find(kCodes, error.code, &CodePair::number);
  const ErrorCode code = found != kCodes.end() ? found->code : ErrorCode::kProtocol;
  return {code, error.message, error.remedy};
}

std::expected<Message, ParseFailure> parse_message(std::string_view line) {
  const auto failed = [](int code, std::string message) {
    return std::unexpected(ParseFailure{std::nullopt, protocol_error(code, std::move(message))});
  };
  if (nests_too_deep(line)) {
    return failed(kInvalidRequest, "the message nests deeper than " + std::to_string(kMaxDepth) + " levels");
  }
  json value;
  try {
    value = json::parse(line);
  } catch (const json::parse_error& error) {
    return failed(kParseError, "not JSON, from byte " + std::to_string(error.byte) + " of the line");
  } catch (const json::exception&) {
    return failed(kParseError, "a number is out of range");
  }
  if (value.is_array()) return failed(kInvalidRequest, "batches are not supported: send one message a line");
  if (!value.is_object()) return failed(kInvalidRequest, "a message is a JSON object");
  return parse_object(value);
}

std::string serialise(const Message& message) {
  return to_text(std::visit([](const auto& value) { return to_json(value); }, message));
}

std::string result_line(const Id& id, std::string_view result) {
  return R"({"jsonrpc":"2.0","id":)" + to_text(encode_id(id)) + R"(,"result":)" + std::string(result) + "}";
}

std::string error_line(const std::optional<Id>& id, const RpcError& error) {
  return serialise(Response{id, std::unexpected(error)});
}

std::string notification_line(std::string_view method, const Id& id, std::string_view params) {
  const bool has_fields = params != "{}";
  return R"({"jsonrpc":"2.0","method":)" + to_text(method) + R"(,"params":{"id":)" + to_text(encode_id(id)) +
         (has_fields ? "," : "") + std::string(params.substr(1)) + "}";
}

}  // namespace kvboost::protocol
