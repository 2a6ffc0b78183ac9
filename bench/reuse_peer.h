// SPDX-License-Identifier: Apache-2.0
// The peer of the reuse bench: another engine that is asked the same prompts, by token ids, with its own kind
// of reuse on. bench/peer_reuse.py is that program for llama.cpp, and describes what it is given and what it
// answers. One thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "base/error.h"
#include "bench/reuse_figures.h"
#include "bench/reuse_prompts.h"

namespace kvboost::bench {

struct PeerRequest {
  std::string peer{};  // as of --peer
  std::filesystem::path model{};
  std::int32_t threads = 0;
  std::int32_t greedy = 32;
  std::vector<std::int32_t> letters{};  // the tokens of the four answers
  std::vector<Scenario> scenarios{};
  std::vector<PromptMaker::Set> sets{};
};

[[nodiscard]] Result<void> run_reuse_peer(
    const PeerRequest& request,
    const std::function<void(const ReuseRow& row, const ReuseOutcome& outcome)>& sink);

}  // namespace kvboost::bench
