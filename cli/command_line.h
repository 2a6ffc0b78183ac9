// SPDX-License-Identifier: Apache-2.0
// CommandLine: the one table of commands, as CLI11 parses it. What the arguments mean is in cmd_*; nothing
// but this box and the generator of manuals and completions sees CLI11. One thread; parse once.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/session.h"

namespace CLI {
class App;
}

namespace kvboost::cli {

/// What was asked for.
struct Invocation {
  std::map<std::string, std::string> flags;  // option of the table → text
  std::function<int(Session&)> run;
};

class CommandLine {
 public:
  /// `version` is what --version prints.
  explicit CommandLine(std::string version);
  ~CommandLine();
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;

  /// The exit code if all is said already (help, version, a mistake, with the text written), else the
  /// invocation is complete.
  [[nodiscard]] std::optional<int> parse(int argc, const char* const* argv);
  [[nodiscard]] const Invocation& invocation() const { return invocation_; }

  /// The tree of commands, for those who describe it.
  [[nodiscard]] const CLI::App& app() const { return *app_; }

 private:
  std::string version_;
  Invocation invocation_;
  std::unique_ptr<CLI::App> app_;
};

}  // namespace kvboost::cli
