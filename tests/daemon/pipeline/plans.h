// SPDX-License-Identifier: Apache-2.0
// Plans of random tokens for the pipeline's tests.
#pragma once

#include <vector>

#include "daemon/prompt/prompt_plan.h"
#include "tests/engine/model/loaded_engine.h"

namespace kvboost::daemon {

inline PlanPart part_of(PartKind kind, std::size_t n_tokens, unsigned seed, std::string path = {}) {
  PlanPart part;
  part.kind = kind;
  part.path = std::move(path);
  part.tokens = test::random_tokens(n_tokens, seed);
  return part;
}

/// Header, two files, question.
inline PromptPlan plan_of(unsigned question_seed) {
  PromptPlan plan;
  plan.parts = {part_of(PartKind::kHeader, 10, 1), part_of(PartKind::kFile, 40, 2, "a.c"),
                part_of(PartKind::kFile, 30, 3, "b.c"), part_of(PartKind::kLiteral, 12, question_seed)};
  return plan;
}

}  // namespace kvboost::daemon
