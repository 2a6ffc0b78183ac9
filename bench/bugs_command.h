// SPDX-License-Identifier: Apache-2.0
// The command line of `kvboost bench bugs`. One thread.
#pragma once

#include <CLI/CLI.hpp>
#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "bench/bug_rank.h"

namespace kvboost::bench {

struct BugsCommand {
  BugBench bench;
  std::filesystem::path set;
  std::filesystem::path mine;
  std::string task = "rank";
  std::vector<std::string> policies = {"exact"};
  std::size_t limit = 0;
  std::filesystem::path plot;
  bool json = false;

  void add_options(CLI::App& command);
  [[nodiscard]] Result<void> run();

 private:
  [[nodiscard]] Result<BugSet> read_set() const;
  [[nodiscard]] Result<void> rank(const BugSet& cases) const;
  [[nodiscard]] Result<void> choose(const BugSet& cases) const;
};

}  // namespace kvboost::bench
