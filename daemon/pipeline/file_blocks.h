// SPDX-License-Identifier: Apache-2.0
// FileBlocks: the blocks that a file is kept as. Its chunks stand in groups; each group begins anew behind
// the header, neighbours (neighbours.h) and the file's opening, and holds at most kGroupTokens of chunks, so
// that an edit changes the left context of its own group only. Pure functions, any thread.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "cache/chunk/chunk.h"
#include "cache/chunk/chunker.h"
#include "cache/key/chunk_key.h"
#include "cache/store/manifest_row.h"
#include "daemon/prompt/chat_template.h"
#include "daemon/prompt/chunk_cache.h"
#include "daemon/prompt/prompt_plan.h"

namespace kvboost::daemon {

inline constexpr std::size_t kGroupTokens = 2048;

struct BlockPart {
  std::vector<engine::TokenId> tokens;
  cache::ChunkKey key;
  cache::Chunk span;  // empty in header and opening
};

/// Header with the neighbours behind it, opening, then chunks.
using BlockGroup = std::vector<BlockPart>;
inline constexpr std::size_t kFirstChunk = 2;

/// `model_context`: most tokens that the model takes at once, all that stands before included. A chunk that
/// alone is longer is in no group.
[[nodiscard]] std::vector<BlockGroup> group_blocks(const EncodedFile& file, std::string_view path,
                                                   const ChatTemplate& chat, const Digest& context,
                                                   std::size_t model_context,
                                                   std::span<const engine::TokenId> neighbours = {});

/// Header and files at the beginning of a prompt, as one group: the blocks that they are in this very order.
[[nodiscard]] BlockGroup leading_blocks(const PromptPlan& plan, const Digest& context);

/// What the blocks of a file hang on besides its text, for the manifest. `context` as of cache::key_context;
/// `neighbours`: NeighbourRun::end, zeros for a file without.
[[nodiscard]] Digest blocks_context(const Digest& context, std::size_t model_context,
                                    const cache::ChunkOptions& options, const Digest& neighbours);

/// What the manifest keeps of them: openings and chunks. `text` and `context` as in ManifestFile.
[[nodiscard]] cache::ManifestFile manifest_of(const std::vector<BlockGroup>& groups, const Digest& text,
                                              const Digest& context);

/// In the manifest an opening is what has no text.
[[nodiscard]] inline bool is_opening(const cache::ManifestChunk& part) {
  return part.begin == part.end;
}

/// The groups again, by what the manifest keeps of them: each is an opening and its chunks. Borrowed.
using KeptGroup = std::span<const cache::ManifestChunk>;
[[nodiscard]] std::vector<KeptGroup> kept_groups(const cache::ManifestFile& file);

}  // namespace kvboost::daemon
