// SPDX-License-Identifier: Apache-2.0
#include "daemon/plan_report.h"

#include <cstddef>
#include <cstdint>

namespace kvboost::daemon {
namespace {

/// What was found for a part, and what was done with it.
void tell_match(const PlanPart& part, const PartRead& read, protocol::AskChunk& chunk) {
  if (part.kind == PartKind::kLiteral) {
    chunk.match = "literal";
    chunk.reason = read.live > 0 ? "stands in a live sequence" : "text of this request";
  } else if (read.loaded + read.computed == 0) {
    chunk.match = "live";
    chunk.reason = "stands in a live sequence";
  } else if (read.match == Match::kExact) {
    chunk.match = "exact";
    chunk.reason = read.loaded > 0 ? "stored, computed behind the same text"
                                   : "stored, but behind something that had to be computed";
  } else if (read.match == Match::kApproximate) {
    chunk.match = "approximate";
    chunk.reason =
        read.loaded > 0 ? "stored, computed behind other text" : "stored behind other text only, so computed";
  } else {
    chunk.match = "missed";
    chunk.reason = "not stored, or not for this model";
  }
}

}  // namespace

std::vector<protocol::AskChunk> chunks_of(const PromptPlan& plan, std::span<const PartRead> read) {
  std::vector<protocol::AskChunk> chunks;
  for (std::size_t i = 0; i < plan.parts.size(); ++i) {
    const PlanPart& part = plan.parts[i];
    protocol::AskChunk& chunk = chunks.emplace_back();
    chunk.path = part.path;
    chunk.first_line = part.first_line;
    chunk.last_line = part.last_line;
    tell_match(part, read[i], chunk);
    chunk.tokens = static_cast<std::int32_t>(part.tokens.size());
    chunk.computed = read[i].computed;
    chunk.repaired = read[i].repaired;
    chunk.bytes = read[i].bytes;
    chunk.ms = read[i].ms;
  }
  return chunks;
}

}  // namespace kvboost::daemon
