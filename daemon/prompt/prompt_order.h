// SPDX-License-Identifier: Apache-2.0
// keep_order: stable placing of files over a series of questions. Blocks at a prompt's beginning are exact as
// long as the same chunks stand there in the same order; so a prompt begins as the last one in its repository
// did, as far as it holds the same pieces. Pure, any thread.
#pragma once

#include <span>

#include "daemon/prompt/prompt_plan.h"

namespace kvboost::daemon {

/// Moves those runs of chunks of `plan` to its front that `last` began with, in its order, up to the first
/// one that `plan` does not hold. The others keep their order behind them.
void keep_order(PromptPlan& plan, std::span<const PlanPart> last);

}  // namespace kvboost::daemon
