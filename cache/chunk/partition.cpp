// SPDX-License-Identifier: Apache-2.0
#include "cache/chunk/partition.h"

#include <algorithm>
#include <limits>

namespace kvboost::cache {
namespace {

constexpr Cost kSizeUnit = 64 * CutCost::kUnit;
constexpr Cost kSmall = 8192 * CutCost::kUnit;  // of a chunk below the minimum: more than any cut

Cost size_cost(std::size_t tokens, const SizeRule& rule) {
  const auto n = static_cast<Cost>(std::max<std::size_t>(tokens, 1));
  const auto low = static_cast<Cost>(rule.low);
  const auto high = static_cast<Cost>(std::max<std::size_t>(rule.high, 1));
  const auto min = static_cast<Cost>(rule.min);
  Cost cost = 0;
  if (n < low) cost += kSizeUnit * (low - n) / n;
  if (n > high) cost += kSizeUnit * (n - high) / high;
  if (n < min) cost += kSmall + kSmall * (min - n) / min;
  return cost;
}

// Whether a cut before the piece `at` is the cheapest within `reach` tokens on either side, the ends of the
// text counting as cheaper ones; of equally cheap ones the first.
bool is_anchor(std::span<const std::size_t> tokens, std::span<const Cost> cut_costs, std::size_t at,
               std::size_t reach) {
  if (reach == 0) return false;
  std::size_t before = 0;
  for (std::size_t i = at; before < reach; --i) {
    if (i == 0 || (i < at && cut_costs[i] <= cut_costs[at])) return false;
    before += tokens[i - 1];
  }
  std::size_t behind = 0;
  for (std::size_t i = at; behind < reach; ++i) {
    if (i == tokens.size() || cut_costs[i] < cut_costs[at]) return false;
    behind += tokens[i];
  }
  return true;
}

// Adds to `firsts` the first piece of each chunk of one part, which begins at the piece `offset` of the text.
void cut_part(std::span<const std::size_t> tokens, std::span<const Cost> cut_costs, const SizeRule& rule,
              std::size_t offset, std::vector<std::size_t>& firsts) {
  const std::size_t n = tokens.size();
  std::vector<Cost> best(n + 1, std::numeric_limits<Cost>::max());  // of the pieces [0, i), cut at i
  std::vector<std::size_t> from(n + 1, 0);
  best[0] = 0;
  for (std::size_t end = 1; end <= n; ++end) {
    const Cost cut = end < n ? cut_costs[end] : 0;
    std::size_t size = 0;
    for (std::size_t begin = end; begin-- > 0;) {
      size += tokens[begin];
      if (size > rule.max && begin + 1 < end) break;
      const Cost cost = best[begin] + size_cost(size, rule) + cut;
      if (cost < best[end]) {
        best[end] = cost;
        from[end] = begin;
      }
    }
  }
  const auto added = static_cast<std::ptrdiff_t>(firsts.size());
  for (std::size_t at = n; at > 0; at = from[at]) firsts.push_back(offset + from[at]);
  std::reverse(firsts.begin() + added, firsts.end());
}

}  // namespace

std::vector<std::size_t> partition(std::span<const std::size_t> tokens, std::span<const Cost> cut_costs,
                                   const SizeRule& rule) {
  std::vector<std::size_t> firsts;
  std::size_t begin = 0;
  for (std::size_t end = 1; end <= tokens.size(); ++end) {
    if (end < tokens.size() && !is_anchor(tokens, cut_costs, end, rule.anchor_reach)) continue;
    cut_part(tokens.subspan(begin, end - begin), cut_costs.subspan(begin, end - begin), rule, begin, firsts);
    begin = end;
  }
  return firsts;
}

}  // namespace kvboost::cache
