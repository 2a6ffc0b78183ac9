// SPDX-License-Identifier: Apache-2.0
#include "daemon/prompt/extra_parts.h"

#include <iterator>
#include <ranges>
#include <utility>

#include "cache/track/work_tree.h"
#include "daemon/prompt/edit_buffer.h"
#include "daemon/prompt/file_parts.h"

namespace kvboost::daemon {

std::vector<PlanPart> extra_parts(std::span<const ExtraText> extra, const ChatTemplate& chat,
                                  const engine::Tokenizer& tokenizer, ChunkCache& chunks,
                                  std::size_t budget) {
  std::vector<std::vector<PlanPart>> taken;  // the last text first
  for (const ExtraText& one : extra | std::views::reverse) {
    if (one.text.empty() || cache::is_secret_path(one.name)) continue;
    std::vector<PlanPart> parts = {
        {.kind = PartKind::kFile, .path = one.name, .tokens = chat.file_opening(one.name)}};
    std::size_t size = parts.front().tokens.size();
    const auto encoded = chunks.encode(tokenizer, one.name, EditBuffer(one.text, 0).text());
    for (const EncodedChunk& chunk : *encoded) {
      parts.push_back(file_part(one.name, chunk));
      size += chunk.tokens.size();
    }
    if (size > budget) break;
    budget -= size;
    taken.push_back(std::move(parts));
  }
  std::vector<PlanPart> all;
  for (auto& parts : taken | std::views::reverse) std::ranges::move(parts, std::back_inserter(all));
  return all;
}

}  // namespace kvboost::daemon
