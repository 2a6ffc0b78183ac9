// SPDX-License-Identifier: Apache-2.0
#include "daemon/prompt/completion_plan.h"

#include <utility>

namespace kvboost::daemon {
namespace {

void add(PromptPlan& plan, PlanPart part) {
  if (!part.tokens.empty()) plan.parts.push_back(std::move(part));
}

}  // namespace

CompletionPlan make_completion_plan(CompletionParts parts) {
  const FillInMiddle& fill = parts.fill;
  const PartKind kind = parts.is_stored ? PartKind::kFile : PartKind::kLiteral;
  CompletionPlan plan;
  PromptPlan& prompt = plan.prompt;
  add(prompt, {.kind = PartKind::kHeader, .tokens = parts.chat.header()});
  if (!parts.related.empty())
    add(prompt, {.kind = PartKind::kFile, .tokens = fill.repository(parts.repository)});
  for (const PlanPart& part : parts.related) add(prompt, part);
  add(prompt, {.kind = kind,
               .path = parts.path,
               .tokens = fill.available() ? fill.opening(parts.path) : parts.chat.file_opening(parts.path)});

  std::vector<engine::TokenId> suffix = fill.before_suffix();
  if (fill.available()) suffix.insert(suffix.end(), parts.suffix.begin(), parts.suffix.end());
  if (fill.suffix_first()) {
    const auto& mark = fill.before_prefix();
    suffix.insert(suffix.end(), mark.begin(), mark.end());
    add(prompt, {.path = parts.path, .tokens = std::move(suffix)});
  } else {
    plan.suffix = std::move(suffix);
  }
  for (const EncodedChunk& chunk : parts.window.chunks()) {
    add(prompt, {.kind = kind,
                 .path = parts.path,
                 .first_line = chunk.span.first_line,
                 .last_line = chunk.span.last_line,
                 .tokens = chunk.tokens});
  }
  add(prompt, {.path = parts.path, .tokens = parts.window.tail()});
  plan.opening = parts.window.opening();
  plan.closing = fill.before_middle();
  plan.family = fill.family();
  return plan;
}

}  // namespace kvboost::daemon
