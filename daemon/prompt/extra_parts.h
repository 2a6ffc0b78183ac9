// SPDX-License-Identifier: Apache-2.0
// What a completion is told of other files when the editor has chosen it: texts with the names of their
// files, as parts of a plan. Pure function but for the cache that it is handed; any thread.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "daemon/prompt/chat_template.h"
#include "daemon/prompt/chunk_cache.h"
#include "daemon/prompt/prompt_plan.h"
#include "engine/tokenizer.h"

namespace kvboost::daemon {

struct ExtraText {
  std::string name;  // of its file; may be empty
  std::string text;
  bool operator==(const ExtraText&) const = default;
};

/// The texts in their order, without those before the last ones that fit into `budget` tokens, and without
/// those of files that are secret by their name.
[[nodiscard]] std::vector<PlanPart> extra_parts(std::span<const ExtraText> extra, const ChatTemplate& chat,
                                                const engine::Tokenizer& tokenizer, ChunkCache& chunks,
                                                std::size_t budget);

}  // namespace kvboost::daemon
