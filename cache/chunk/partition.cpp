// SPDX-License-Identifier: Apache-2.0
#include "cache/chunk/partition.h"

#include <algorithm>
#include <limits>

namespace kvboost::cache {
namespace {

constexpr Cost kSmall = 8192;  // of a chunk below the minimum: more than any cut

Cost size_cost(std::size_t tokens, const SizeRule& rule) {
  const auto n = static_cast<Cost>(std::max<std::size_t>(tokens, 1));
  const auto low = static_cast<Cost>(rule.low);
  const auto high = static_cast<Cost>(std::max<std::size_t>(rule.high, 1));
  const auto min = static_cast<Cost>(rule.min);
  Cost cost = 0;
  if (n < low) cost += 64 * (low - n) / n;
  if (n > high) cost += 64 * (n - high) / high;
  if (n < min) cost += kSmall + kSmall * (min - n) / min;
  return cost;
}

}  // namespace

std::vector<std::size_t> partition(std::span<const std::size_t> tokens, std::span<const Cost> cut_costs,
                                   const SizeRule& rule) {
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
  std::vector<std::size_t> firsts;
  for (std::size_t at = n; at > 0; at = from[at]) firsts.push_back(from[at]);
  std::ranges::reverse(firsts);
  return firsts;
}

}  // namespace kvboost::cache
