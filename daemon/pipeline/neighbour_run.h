// SPDX-License-Identifier: Apache-2.0
// NeighbourRun: pieces of a repository's own files that its blocks are computed behind, between the header
// and the file, and that stand in no prompt. Behind other files of its repository a chunk becomes much the
// same whichever they are, and something else than behind the header alone (bench/README.md): blocks made so
// need less repair wherever they are placed. Pure functions, any thread.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/digest.h"
#include "cache/store/manifest_row.h"
#include "daemon/prompt/chat_template.h"
#include "daemon/prompt/repository.h"

namespace kvboost::daemon {

/// As the model reads them.
struct NeighbourRun {
  std::vector<engine::TokenId> tokens;  // none: blocks are computed behind the header alone
  std::set<std::string> paths;          // files that these are from: their own blocks are computed without
  Digest end;                           // prefix key of what is computed behind header and tokens
};

/// From the middle of files that stand far from each other; none where there are too few files.
[[nodiscard]] std::vector<cache::Neighbour> choose_neighbours(Repository& repository,
                                                              const engine::Tokenizer& tokenizer);

/// At most an eighth of the model's context. `context` as of cache::key_context.
[[nodiscard]] NeighbourRun neighbour_run(std::span<const cache::Neighbour> neighbours,
                                         const engine::Tokenizer& tokenizer, const ChatTemplate& chat,
                                         const Digest& context, std::int32_t model_context);

}  // namespace kvboost::daemon
