// SPDX-License-Identifier: Apache-2.0
#include "daemon/pipeline/resolver.h"

#include <algorithm>

namespace kvboost::daemon {
namespace {

/// The prefix keys that the next part would have, had the prompt begun with some opening and then the parts
/// from some later one on: blocks computed behind less of what stands before.
class ShorterContexts {
 public:
  /// `opening`: prefix key of what stood first; zeros: nothing is found.
  void begin(const Digest& opening) { opening_ = opening; }
  void add(const Digest& content) {
    if (opening_ == Digest{}) return;
    ends_.push_back(opening_);
    for (Digest& end : ends_) end = cache::prefix_key(end, content);
  }
  /// The longest one that is stored with `content` behind it.
  [[nodiscard]] Digest find(const Digest& content, BlockCache& blocks) const {
    if (opening_ == Digest{}) return {};
    for (const Digest& end : ends_) {
      if (const Digest key = cache::prefix_key(end, content); blocks.has(key)) return key;
    }
    const Digest alone = cache::prefix_key(opening_, content);
    return blocks.has(alone) ? alone : Digest{};
  }

 private:
  Digest opening_;
  std::vector<Digest> ends_;  // the longest first
};

/// Finds the block of a part that has none computed behind what stands before it.
class Sources {
 public:
  Sources(const Digest& neighbours, BlockCache& blocks) : blocks_(blocks) { near_.begin(neighbours); }
  void add(const PlanPart& part, const cache::ChunkKey& key) {
    if (part.kind == PartKind::kHeader) {
      plain_.begin(key.prefix);
    } else {
      near_.add(key.content);
      plain_.add(key.content);
    }
  }
  void find(ResolvedPart& part) const {
    part.source = near_.find(part.key.content, blocks_);
    part.near = part.source != Digest{};
    if (!part.near) part.source = plain_.find(part.key.content, blocks_);
    if (part.source == Digest{}) {
      const auto others = blocks_.store().prefixes_of(part.key.content);
      if (others && !others->empty()) part.source = std::ranges::min(*others);
    }
    part.match = part.source == Digest{} ? Match::kMiss : Match::kApproximate;
  }

 private:
  BlockCache& blocks_;
  ShorterContexts near_, plain_;
};

}  // namespace

ResolvedPlan resolve(const PromptPlan& plan, const Digest& context, const Digest& neighbours,
                     BlockCache& blocks) {
  ResolvedPlan resolved;
  cache::KeyChain chain(context);
  Sources sources(neighbours, blocks);
  bool keep = true;
  for (const PlanPart& part : plan.parts) {
    ResolvedPart found;
    found.key = chain.next(part.tokens);
    keep = keep && part.kind != PartKind::kLiteral;
    found.keep = keep;
    if (part.kind != PartKind::kLiteral && blocks.has(found.key.prefix)) {
      found.source = found.key.prefix;
      found.match = Match::kExact;
    } else if (part.kind != PartKind::kLiteral) {
      sources.find(found);
    }
    sources.add(part, found.key);
    resolved.push_back(found);
  }
  return resolved;
}

}  // namespace kvboost::daemon
