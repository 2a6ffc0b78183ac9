// SPDX-License-Identifier: Apache-2.0
// The id of a request: what its client chose, and what answers and notifications carry. Plain value, any
// thread.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <variant>

namespace kvboost::protocol {

using Id = std::variant<std::int64_t, std::string>;

[[nodiscard]] nlohmann::json encode_id(const Id& id);
/// Nothing if it is no string and no integer of 64 bits.
[[nodiscard]] std::optional<Id> decode_id(const nlohmann::json& json);

}  // namespace kvboost::protocol
