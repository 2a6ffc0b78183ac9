// SPDX-License-Identifier: Apache-2.0
#include "daemon/pipeline/resolver.h"

namespace kvboost::daemon {

ResolvedPlan resolve(const PromptPlan& plan, const Digest& context, BlockCache& blocks) {
  ResolvedPlan resolved;
  cache::KeyChain chain(context);
  bool keep = true;
  for (const PlanPart& part : plan.parts) {
    ResolvedPart found{.key = chain.next(part.tokens)};
    keep = keep && part.kind != PartKind::kLiteral;
    found.keep = keep;
    if (part.kind != PartKind::kLiteral) found.match = blocks.match(found.key);
    resolved.push_back(found);
  }
  return resolved;
}

}  // namespace kvboost::daemon
