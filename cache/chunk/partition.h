// SPDX-License-Identifier: Apache-2.0
// Where to cut a row of pieces into chunks. Every cut has a cost (how much it tears apart), and so has every
// chunk that is far from the wanted size. A cut that is the cheapest far and wide is an anchor; between two
// of these, the cheapest set of cuts is found by dynamic programming. Since costs depend on what stands at a
// cut and not on what came before, an edit moves no cuts but those around it. Pure functions, any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace kvboost::cache {

struct SizeRule {
  std::size_t min = 0;  // fewer only where there is no other way
  std::size_t low = 0;  // from `low` to `high`, sizes are equally good
  std::size_t high = 0;
  std::size_t max = 0;  // never more, unless one piece alone has more
  /// A cut that is the cheapest within so many tokens on either side is always made (an anchor);
  /// 0: there are none.
  std::size_t anchor_reach = 0;
};

using Cost = std::int64_t;

/// Costs of cuts, least to most: between members of what is larger than a chunk; through a whole member that
/// would fit; in the middle of a statement; between what belongs together; inside a line.
struct CutCost {
  static constexpr Cost kUnit = 256;
  static constexpr Cost kBySign = 16 * kUnit;  // below this: a sign of the line itself, so that few are equal
  static constexpr Cost kLargeMember = 16 * kUnit;  // for each member around the cut larger than a chunk
  static constexpr Cost kNoBlankLine = 32 * kUnit;
  static constexpr Cost kWholeMember = 256 * kUnit;  // for each member around the cut that fits into a chunk
  static constexpr Cost kInside = 1024 * kUnit;
  static constexpr Cost kPart = 2048 * kUnit;
  static constexpr Cost kInLine = 4096 * kUnit;
};

/// The first piece of each chunk, so 0 first. `tokens` and `cut_costs` (of cutting before each) are of the
/// same size.
[[nodiscard]] std::vector<std::size_t> partition(std::span<const std::size_t> tokens,
                                                 std::span<const Cost> cut_costs, const SizeRule& rule);

}  // namespace kvboost::cache
