// SPDX-License-Identifier: Apache-2.0
// The messages of a chat as OpenAI's clients send them. Pure, any thread.
#pragma once

#include <vector>

#include "daemon/http/request_fields.h"
#include "daemon/protocol/methods.h"

namespace kvboost::daemon {

/// The field "messages": at least one, of text. Errors go into `fields`.
[[nodiscard]] std::vector<protocol::ChatMessage> read_messages(RequestFields& fields);

}  // namespace kvboost::daemon
