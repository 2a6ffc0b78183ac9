// SPDX-License-Identifier: Apache-2.0
#include "daemon/prompt/prompt_order.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <vector>

namespace kvboost::daemon {
namespace {

/// An opening and the chunks behind it.
using Run = std::span<const PlanPart>;

/// The runs between header and literal text.
std::vector<Run> runs_of(std::span<const PlanPart> parts) {
  std::vector<Run> runs;
  std::size_t at = !parts.empty() && parts.front().kind == PartKind::kHeader ? 1 : 0;
  while (at < parts.size() && parts[at].is_opening()) {
    std::size_t end = at + 1;
    while (end < parts.size() && parts[end].kind == PartKind::kFile && !parts[end].is_opening()) ++end;
    runs.push_back(parts.subspan(at, end - at));
    at = end;
  }
  return runs;
}

bool same(const Run& a, const Run& b) {
  return std::ranges::equal(a, b, {}, &PlanPart::tokens, &PlanPart::tokens);
}

}  // namespace

void keep_order(PromptPlan& plan, std::span<const PlanPart> last) {
  std::vector<Run> runs = runs_of(plan.parts);
  auto placed = runs.begin();
  for (const Run& wanted : runs_of(last)) {
    const auto found = std::find_if(placed, runs.end(), [&](const Run& run) { return same(run, wanted); });
    if (found == runs.end()) break;
    std::rotate(placed, found, found + 1);
    ++placed;
  }
  if (placed == runs.begin()) return;
  const auto first =
      static_cast<std::size_t>(std::ranges::find_if(plan.parts, &PlanPart::is_opening) - plan.parts.begin());
  std::vector<PlanPart> ordered;
  for (const Run& run : runs) ordered.insert(ordered.end(), run.begin(), run.end());
  std::ranges::move(ordered, plan.parts.begin() + static_cast<std::ptrdiff_t>(first));
}

}  // namespace kvboost::daemon
