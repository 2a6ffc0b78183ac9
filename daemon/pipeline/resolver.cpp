// SPDX-License-Identifier: Apache-2.0
#include "daemon/pipeline/resolver.h"

#include <algorithm>

namespace kvboost::daemon {
namespace {

/// The prefix keys that the next part would have, had the prompt begun with the header and then the parts
/// from some later one on: blocks computed behind less of what stands before.
class ShorterContexts {
 public:
  void begin(const Digest& header) { header_ = header; }
  void add(const Digest& content) {
    if (header_ == Digest{}) return;
    ends_.push_back(header_);
    for (Digest& end : ends_) end = cache::prefix_key(end, content);
  }
  /// The longest one that is stored with `content` behind it.
  [[nodiscard]] Digest find(const Digest& content, BlockCache& blocks) const {
    for (const Digest& end : ends_) {
      if (const Digest key = cache::prefix_key(end, content); blocks.has(key)) return key;
    }
    const Digest alone = cache::prefix_key(header_, content);
    if (blocks.has(alone)) return alone;
    const auto others = blocks.store().prefixes_of(content);
    return others && !others->empty() ? std::ranges::min(*others) : Digest{};
  }

 private:
  Digest header_;
  std::vector<Digest> ends_;  // the longest first
};

}  // namespace

ResolvedPlan resolve(const PromptPlan& plan, const Digest& context, BlockCache& blocks) {
  ResolvedPlan resolved;
  cache::KeyChain chain(context);
  ShorterContexts shorter;
  bool keep = true;
  for (const PlanPart& part : plan.parts) {
    ResolvedPart found;
    found.key = chain.next(part.tokens);
    keep = keep && part.kind != PartKind::kLiteral;
    found.keep = keep;
    if (part.kind != PartKind::kLiteral) {
      const bool exact = blocks.has(found.key.prefix);
      found.source = exact ? found.key.prefix : shorter.find(found.key.content, blocks);
      found.match = exact ? Match::kExact : found.source == Digest{} ? Match::kMiss : Match::kApproximate;
    }
    part.kind == PartKind::kHeader ? shorter.begin(found.key.prefix) : shorter.add(found.key.content);
    resolved.push_back(found);
  }
  return resolved;
}

}  // namespace kvboost::daemon
