// SPDX-License-Identifier: Apache-2.0
// The command line as plain data, for manuals and completions: what CLI11 knows, without CLI11. Plain values.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace kvboost::cli {

struct DocOption {
  std::vector<std::string> names;    // "-f", "--file"; empty for a positional
  std::string value;                 // "FILE", "auto|bf16|f32"; empty for a flag
  std::vector<std::string> choices;  // what the value may be, where that is a known list
  std::string help;
  std::string group;
};

struct DocCommand {
  std::string name;
  std::string path;  // "kvboost daemon logs"
  std::string purpose;
  std::string footer;
  std::vector<DocOption> positionals;
  std::vector<DocOption> options;
  std::vector<DocCommand> commands;
};

[[nodiscard]] DocCommand describe(const CLI::App& app, const std::string& parent_path = "");

}  // namespace kvboost::cli
