// SPDX-License-Identifier: Apache-2.0
// Texts that are not worth parsing, or that a parser would take too long for. A pure function, any thread.
#pragma once

#include <string>
#include <string_view>

namespace kvboost::cache {

/// Why `text` should be cut by lines although there is a grammar for it: "a line of 31337 bytes (minified?)",
/// "generated", "larger than 512 KB", ... Empty when it should be parsed.
[[nodiscard]] std::string why_not_parse(std::string_view text);

}  // namespace kvboost::cache
