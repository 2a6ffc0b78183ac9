// SPDX-License-Identifier: Apache-2.0
// Fuzzes what comes over the socket: framing, messages, the parameters of every method. Besides not crashing:
// lines do not depend on the pieces they come in, and what was read can be written and read again.
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "daemon/protocol/framing.h"
#include "daemon/protocol/methods.h"
#include "daemon/protocol/path_text.h"
#include "daemon/protocol/rpc.h"

namespace kvboost::protocol {
namespace {

constexpr std::size_t kLimit = 4096;  // small, so that inputs reach it

void must(bool holds) {
  if (!holds) std::abort();
}

/// The lines of `stream`, and at the end whether one was too long.
std::vector<std::string> lines_of(std::string_view stream, std::size_t piece) {
  LineFramer framer(kLimit);
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < stream.size(); i += piece) {
    framer.append(stream.substr(i, piece));
    for (;;) {
      auto line = framer.next();
      if (!line) {
        lines.emplace_back("too long");
        return lines;
      }
      if (!*line) break;
      lines.push_back(std::move(**line));
    }
  }
  return lines;
}

template <class T>
void read_as(const nlohmann::json& params) {
  const auto value = decode<T>(params);
  if (!value) return must(!value.error().message.empty());
  const std::string text = encode_text(*value);
  must(is_utf8(text) && text.find('\n') == std::string::npos);
  const auto again = decode_text<T>(text);
  must(again.has_value() && encode_text(*again) == text);
}

void read_params(const nlohmann::json& params) {
  read_as<Nothing>(params);
  read_as<InitializeParams>(params);
  read_as<InitializeResult>(params);
  read_as<AskParams>(params);
  read_as<AskProgress>(params);
  read_as<AskToken>(params);
  read_as<AskResult>(params);
  read_as<StatusResult>(params);
  read_as<ModelListResult>(params);
  read_as<ModelInfoParams>(params);
  read_as<ModelInfoResult>(params);
  read_as<ModelAddParams>(params);
  read_as<ModelUseParams>(params);
  read_as<DoctorResult>(params);
  read_as<ShutdownParams>(params);
}

void read_line(const std::string& line) {
  const auto message = parse_message(line);
  if (!message) {
    const std::string answer = error_line(message.error().id, message.error().error);
    return must(is_utf8(answer) && parse_message(answer).has_value());
  }
  const std::string text = serialise(*message);
  const auto again = parse_message(text);
  must(again.has_value() && serialise(*again) == text && again->index() == message->index());
  if (const auto* request = std::get_if<Request>(&*message)) {
    read_params(request->params);
    if (request->params.is_object()) {
      must(
          parse_message(notification_line(request->method, request->id, request->params.dump())).has_value());
      must(parse_message(result_line(request->id, request->params.dump())).has_value());
    }
  } else if (const auto* response = std::get_if<Response>(&*message)) {
    if (response->result) return read_params(*response->result);
    const Error error = to_error(response->result.error());
    must(to_error(to_rpc_error(error)).code == error.code);
  }
}

}  // namespace
}  // namespace kvboost::protocol

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace kvboost::protocol;
  if (size == 0) return 0;
  const std::string_view stream(reinterpret_cast<const char*>(data) + 1, size - 1);
  const auto lines = lines_of(stream, stream.size() + 1);
  must(lines == lines_of(stream, std::size_t{1} + data[0]));
  for (const std::string& line : lines) read_line(line);
  return 0;
}
