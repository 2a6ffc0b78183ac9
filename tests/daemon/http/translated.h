// SPDX-License-Identifier: Apache-2.0
// What a request to a path is translated into, for tests.
#pragma once

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/http/routes.h"
#include "daemon/protocol/methods.h"

namespace kvboost::daemon::test {

using nlohmann::json;

inline ApiResult<Exchange> asked(std::string_view path, const json& body) {
  const auto route = find_route("POST", path);
  if (!route) return std::unexpected(route.error());
  return translate(**route, body.dump(), {.max_tokens = 77, .temperature = 0.5, .top_k = 7});
}

inline Exchange exchange_of(std::string_view path, const json& body) {
  auto exchange = asked(path, body);
  if (!exchange) throw std::runtime_error(exchange.error().message);
  return std::move(*exchange);
}

template <class Params>
Params params_of(std::string_view path, const json& body) {
  const auto params = protocol::decode_text<Params>(exchange_of(path, body).params);
  if (!params) throw std::runtime_error(params.error().message);
  return *params;
}

/// The field that a refusal names, or what it says where it names none; empty: it was not refused.
inline std::string refused_field(std::string_view path, const json& body) {
  const auto exchange = asked(path, body);
  if (exchange) return {};
  EXPECT_EQ(exchange.error().status, 400U);
  return exchange.error().param.empty() ? exchange.error().message : exchange.error().param;
}

template <class Value>
json answer_to(const Exchange& exchange, const Value& result) {
  const auto answer = exchange.on_result(protocol::encode(result));
  if (!answer) throw std::runtime_error(answer.error().message);
  return json::parse(answer->body);
}

/// The objects of server-sent events; a last [DONE] is the string.
inline std::vector<json> events_of(const std::string& text) {
  std::vector<json> events;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find("\n\n", begin);
    EXPECT_EQ(text.substr(begin, 6), "data: ");
    const std::string data = text.substr(begin + 6, end - begin - 6);
    events.push_back(data == "[DONE]" ? json(data) : json::parse(data));
    begin = end + 2;
  }
  return events;
}

}  // namespace kvboost::daemon::test
