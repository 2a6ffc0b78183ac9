// SPDX-License-Identifier: Apache-2.0
#include "daemon/pipeline/file_blocks.h"

#include <algorithm>
#include <cstdint>
#include <ranges>

namespace kvboost::daemon {

std::vector<BlockGroup> group_blocks(const EncodedFile& file, std::string_view path, const ChatTemplate& chat,
                                     const Digest& context, std::size_t model_context,
                                     std::span<const engine::TokenId> neighbours) {
  std::vector<engine::TokenId> head = chat.header();
  head.insert(head.end(), neighbours.begin(), neighbours.end());
  const std::vector<engine::TokenId> opening = chat.file_opening(path);
  const std::size_t before = head.size() + opening.size();
  const std::size_t most = std::min(kGroupTokens, model_context - std::min(model_context, before));
  std::vector<BlockGroup> groups;
  cache::KeyChain chain(context);
  std::size_t tokens = 0;
  const auto begin_group = [&] {
    chain = cache::KeyChain(context);
    tokens = 0;
    BlockGroup& group = groups.emplace_back();
    for (const auto& part : {head, opening}) group.push_back({part, chain.next(part), {}});
  };
  for (const EncodedChunk& chunk : file) {
    if (chunk.tokens.empty() || chunk.tokens.size() + before > model_context) continue;
    if (groups.empty() || (tokens > 0 && tokens + chunk.tokens.size() > most)) begin_group();
    tokens += chunk.tokens.size();
    groups.back().push_back({chunk.tokens, chain.next(chunk.tokens), chunk.span});
  }
  return groups;
}

BlockGroup leading_blocks(const PromptPlan& plan, const Digest& context) {
  BlockGroup group;
  cache::KeyChain chain(context);
  for (const PlanPart& part : plan.parts) {
    if (part.kind == PartKind::kLiteral) break;
    group.push_back({part.tokens, chain.next(part.tokens), {}});
  }
  return group;
}

Digest blocks_context(const Digest& context, std::size_t model_context, const cache::ChunkOptions& options,
                      const Digest& neighbours) {
  Hasher hasher;
  const auto update = [&](const Digest& digest) { hasher.update(std::as_bytes(std::span(digest.bytes))); };
  update(context);
  update(cache::digest_of(options));
  hasher.update_u64(kGroupTokens).update_u64(std::min(model_context, 2 * kGroupTokens));
  if (neighbours != Digest{}) update(neighbours);
  return hasher.finish();
}

cache::ManifestFile manifest_of(const std::vector<BlockGroup>& groups, const Digest& text,
                                const Digest& context) {
  cache::ManifestFile file{text, context, {}};
  for (const BlockGroup& group : groups) {
    for (const BlockPart& part : group | std::views::drop(1)) {
      file.chunks.push_back({static_cast<std::uint32_t>(part.span.begin),
                             static_cast<std::uint32_t>(part.span.end), part.span.first_line,
                             part.span.last_line, static_cast<std::uint32_t>(part.tokens.size()),
                             part.key.content, part.key.prefix});
    }
  }
  return file;
}

std::vector<KeptGroup> kept_groups(const cache::ManifestFile& file) {
  std::vector<KeptGroup> groups;
  const KeptGroup all = file.chunks;
  for (std::size_t begin = 0, end = 0; begin < all.size(); begin = end) {
    end = begin + 1;
    while (end < all.size() && !is_opening(all[end])) ++end;
    groups.push_back(all.subspan(begin, end - begin));
  }
  return groups;
}

}  // namespace kvboost::daemon
