// SPDX-License-Identifier: Apache-2.0
// What code built with -fsanitize-coverage=trace-pc has reached so far. A place is a step from one traced
// block to the next. Nothing is ever reached in code that is built without. One thread.
#pragma once

#include <cstddef>

namespace kvboost::fuzz {

[[nodiscard]] std::size_t places_reached();

/// The next block starts a new path.
void start_path();

}  // namespace kvboost::fuzz
