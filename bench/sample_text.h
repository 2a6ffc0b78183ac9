// SPDX-License-Identifier: Apache-2.0
// Real source text to measure with. Any thread.
#pragma once

#include <filesystem>
#include <string>

#include "base/error.h"

namespace kvboost::bench {

/// A file's bytes; or all C++ files below a folder (build/ and hidden folders left out), joined in the order
/// of their paths. kNotFound when there is nothing to read.
[[nodiscard]] Result<std::string> sample_text(const std::filesystem::path& from);

}  // namespace kvboost::bench
