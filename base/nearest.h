// SPDX-License-Identifier: Apache-2.0
// "Did you mean": the known word that a mistyped one is closest to. Pure, any thread.
#pragma once

#include <span>
#include <string_view>

namespace kvboost {

/// The candidate with the smallest edit distance to `word`, or empty if none is near enough to be what was
/// meant.
[[nodiscard]] std::string_view nearest(std::string_view word, std::span<const std::string_view> candidates);

}  // namespace kvboost
