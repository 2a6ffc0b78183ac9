// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/chat_messages.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

namespace kvboost::daemon {
namespace {

using nlohmann::json;

/// One string, or a list of parts of which each is text. Nothing for what else can be sent.
std::optional<std::string> content_of(const json& message) {
  const auto found = message.find("content");
  if (found == message.end()) return std::nullopt;
  if (found->is_string()) return found->get<std::string>();
  if (!found->is_array()) return std::nullopt;
  std::string text;
  for (const json& part : *found) {
    if (!part.is_object() || text_field(part, "type") != "text" || !part.contains("text"))
      return std::nullopt;
    text += text_field(part, "text");
  }
  return text;
}

/// As the daemon calls it; empty for one that it does not know.
std::string role_of(const json& message) {
  const std::string role = text_field(message, "role");
  if (role == "developer") return "system";
  return role == "system" || role == "user" || role == "assistant" ? role : std::string();
}

}  // namespace

std::vector<protocol::ChatMessage> read_messages(RequestFields& fields) {
  const json* list = fields.find("messages");
  if (list == nullptr || !list->is_array() || list->empty()) {
    fields.fail_with("messages", "must be a list with at least one message");
    return {};
  }
  std::vector<protocol::ChatMessage> messages;
  for (std::size_t i = 0; i < list->size(); ++i) {
    const json& message = (*list)[i];
    const std::string name = "messages[" + std::to_string(i) + "]";
    if (!message.is_object()) {
      fields.fail_with(name, "must be an object");
      return {};
    }
    std::string role = role_of(message);
    if (role.empty()) fields.fail_with(name + ".role", "must be system, developer, user or assistant");
    auto content = content_of(message);
    if (!content) fields.fail_with(name + ".content", "must be text: a string, or a list of text parts");
    if (fields.error()) return {};
    messages.push_back({std::move(role), std::move(*content)});
  }
  return messages;
}

}  // namespace kvboost::daemon
