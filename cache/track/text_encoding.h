// SPDX-License-Identifier: Apache-2.0
// From a file's bytes to UTF-8 text. Pure functions, any thread.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"

namespace kvboost::cache {

/// UTF-8 as it is, without its byte-order mark; UTF-16 with a byte-order mark converted. Anything else is
/// kInvalidArgument, the message being the bare reason: "binary (a NUL byte at offset 7)", "not UTF-8 (from
/// offset 7 on)". Other encodings are not guessed: a wrong guess would put wrong text into a prompt.
[[nodiscard]] Result<std::string> to_utf8(std::string bytes);

/// Offset of the first byte that is not well-formed UTF-8, or the text's size.
[[nodiscard]] std::size_t utf8_prefix(std::string_view text);

}  // namespace kvboost::cache
