// SPDX-License-Identifier: Apache-2.0
// A picture of the reuse bench: time to the first token against the KL divergence of it, a point a policy.
// Pure functions, any thread.
#pragma once

#include <span>
#include <string>

#include "bench/reuse_figures.h"

namespace kvboost::bench {

/// An SVG of the shuffled prompts: both axes logarithmic; the first codec's rows from memory carry names, the
/// other rows are marked by codec and tier; a line stands at the full read's time. Empty when there is
/// nothing to show.
[[nodiscard]] std::string reuse_picture(std::span<const ReuseFigures> figures);

}  // namespace kvboost::bench
