// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/exchange.h"

#include <nlohmann/json.hpp>

namespace kvboost::daemon {

std::string json_text(const nlohmann::json& value) {
  return value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string event_text(std::string_view data) {
  return "data: " + std::string(data) + "\n\n";
}

std::string event_of(const nlohmann::json& data) {
  return event_text(json_text(data));
}

Answer json_answer(const nlohmann::json& body) {
  return {.body = json_text(body)};
}

}  // namespace kvboost::daemon
