// SPDX-License-Identifier: Apache-2.0
// A conversation as text in a file (JSON). Grammar:
//   {"version": 1, "model": path, "parts": [part...]}
//   part  := {"kind": "header" | "file" | "literal", "path": path, "first_line": n, "last_line": n,
//             "pieces": [piece...]}
//   piece := {"text": "..."} | {"special": "<|im_end|>"}        paths as in PROTOCOL.md
// Pure functions, any thread.
#pragma once

#include <filesystem>

#include "base/error.h"
#include "daemon/pipeline/conversations.h"
#include "engine/tokenizer.h"

namespace kvboost::daemon {

/// Writes beside and renames, readable by the user alone.
[[nodiscard]] Result<void> write_conversation(const std::filesystem::path& file,
                                              const Conversation& conversation,
                                              const engine::Tokenizer& tokenizer);

/// kNotFound without a file, kCorrupt when it is no conversation of this tokenizer.
[[nodiscard]] Result<Conversation> read_conversation(const std::filesystem::path& file,
                                                     const engine::Tokenizer& tokenizer);

}  // namespace kvboost::daemon
