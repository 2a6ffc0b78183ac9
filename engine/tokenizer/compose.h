// SPDX-License-Identifier: Apache-2.0
// Unicode's normal form C, which some models' text was brought into before it was tokenised. Pure, any
// thread. utf8proc stays in the .cpp.
#pragma once

#include <string>
#include <string_view>

namespace kvboost::engine {

/// `text`, which is well-formed UTF-8, in normal form C. Linear time: where more than 4 KiB follow each other
/// without a character that surely composes with none before it (one below U+0300, an ideograph), they are
/// left as they are.
[[nodiscard]] std::string compose(std::string_view text);

}  // namespace kvboost::engine
