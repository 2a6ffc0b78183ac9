// SPDX-License-Identifier: Apache-2.0
// Exchange: one HTTP request, translated: which method of the daemon it asks (PROTOCOL.md), and how that
// method's notifications and result are told to the client. Made by a route, used on the HTTP thread.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "daemon/http/api_error.h"

namespace kvboost::daemon {

struct Answer {
  unsigned status = 200;
  std::string body;
  std::string content_type = "application/json; charset=utf-8";
};

struct Exchange {
  std::string method;
  std::string params = "{}";  // JSON text of an object
  bool stream = false;        // as server-sent events
  /// Streaming: the events that a notification becomes, or an empty text.
  std::function<std::string(const std::string& method, const nlohmann::json& params)> on_notification{};
  /// The answer; streaming: its body is the last events.
  std::function<Result<Answer>(const nlohmann::json& result)> on_result{};
};

/// One server-sent event with a JSON object.
[[nodiscard]] std::string event_of(const nlohmann::json& data);
[[nodiscard]] std::string event_text(std::string_view data);
/// JSON text on one line; bytes that are not UTF-8 become U+FFFD.
[[nodiscard]] std::string json_text(const nlohmann::json& value);

[[nodiscard]] Answer json_answer(const nlohmann::json& body);

/// Sampling and lengths where a request says nothing: the daemon's own configuration.
struct RequestDefaults {
  std::int32_t max_tokens = 512;
  double temperature = 0;
  std::int32_t top_k = 0;
  double top_p = 1;
  double min_p = 0;
};

}  // namespace kvboost::daemon
