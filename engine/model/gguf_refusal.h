// SPDX-License-Identifier: Apache-2.0
// What the readers of model files say of a file that they refuse. Pure functions, any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/error.h"

namespace kvboost::engine {

/// A text out of the file, quoted, cut and without control characters: fit for a message.
[[nodiscard]] std::string shown(std::string_view text);

/// The name of a tensor type that ggml has and kvboost has not.
[[nodiscard]] std::string name_of_unknown_type(std::uint32_t type);

/// What a file that does not start with "GGUF" most likely is.
[[nodiscard]] Error not_gguf(std::span<const std::byte> bytes);

}  // namespace kvboost::engine
