// SPDX-License-Identifier: Apache-2.0
// File names on the wire, without loss. A name on Linux is bytes; JSON strings are Unicode. So a name that is
// well-formed UTF-8 travels as a string, any other as {"base64": "…"} (RFC 4648, padded). Any thread.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace kvboost::protocol {

[[nodiscard]] nlohmann::json encode_path(std::string_view path);
/// Nothing if it is neither of the two forms, or the base64 is malformed.
[[nodiscard]] std::optional<std::string> decode_path(const nlohmann::json& json);

/// Well-formed after the Unicode standard, table 3-7: no surrogates, nothing overlong, nothing above
/// U+10FFFF.
[[nodiscard]] bool is_utf8(std::string_view text);

}  // namespace kvboost::protocol
