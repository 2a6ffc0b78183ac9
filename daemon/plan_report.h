// SPDX-License-Identifier: Apache-2.0
// What `--explain` tells of a plan: each part, how it was found, and what was done with it. Pure, any thread.
#pragma once

#include <span>
#include <vector>

#include "daemon/pipeline/plan_reader.h"
#include "daemon/prompt/prompt_plan.h"
#include "daemon/protocol/methods.h"

namespace kvboost::daemon {

/// `read`: one a part.
[[nodiscard]] std::vector<protocol::AskChunk> chunks_of(const PromptPlan& plan,
                                                        std::span<const PartRead> read);

}  // namespace kvboost::daemon
