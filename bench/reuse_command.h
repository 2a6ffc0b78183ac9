// SPDX-License-Identifier: Apache-2.0
// The command line of `kvboost bench reuse`. One thread.
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <string>
#include <vector>

#include "bench/reuse_bench.h"

namespace kvboost::bench {

struct ReuseCommand {
  ReuseBench bench;
  std::vector<std::string> scenarios;  // names; empty: the shuffled prompts, with a peer all
  std::filesystem::path details;
  std::filesystem::path picture;
  bool json = false;

  void add_options(CLI::App& command);
  [[nodiscard]] Result<void> run() const;

 private:
  [[nodiscard]] std::vector<Scenario> wanted_scenarios() const;
};

}  // namespace kvboost::bench
