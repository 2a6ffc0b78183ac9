// SPDX-License-Identifier: Apache-2.0
// From what a model writes at a cursor to what a person is shown there: where it ends, and what of it is
// taken off again. Pure functions, any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "cache/chunk/cursor_place.h"
#include "daemon/prompt/edit_buffer.h"

namespace kvboost::daemon {

struct HintEnd {
  std::size_t length = 0;  // of the text, so far as it belongs to the hint
  bool reached = false;    // what follows does not
};

/// Where the text that is being written at such a place ends: with its line, or with its block, as the
/// indentation of the following lines tells.
[[nodiscard]] HintEnd find_hint_end(std::string_view text, const cache::CursorPlace& place);

/// What to show of a text that was written at the cursor; empty when nothing is worth it. Trimmed: what
/// follows the cursor already, white space at the end, lines that are repeated. The indentation is the
/// buffer's.
[[nodiscard]] std::string clean_hint(std::string_view text, const EditBuffer& buffer,
                                     const cache::CursorPlace& place);

}  // namespace kvboost::daemon
