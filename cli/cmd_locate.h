// SPDX-License-Identifier: Apache-2.0
// `kvboost locate`: which files, and which functions in them, a bug report is about.
#pragma once

#include <string>
#include <vector>

#include "cli/session.h"
#include "daemon/protocol/methods.h"

namespace kvboost::cli {

struct LocateArguments {
  std::string report;  // "-": from standard input
  std::string file;
  std::vector<std::string> paths;
  std::int32_t top = 10;
  std::string budget;  // a time, or empty
  std::string format = "text";
  bool all = false;
  bool no_model = false;
  bool ask = false;  // the model's choice among the first few, behind the table
  bool no_reuse = false;
  bool explain = false;
  bool json = false;
};

[[nodiscard]] int locate(Session& session, const LocateArguments& arguments);

/// The files as a table; with `explain` each ranker's score too. Paths as seen from `directory`.
[[nodiscard]] std::string locate_table(const protocol::LocateResult& result, const std::string& directory,
                                       bool explain, const Terminal& terminal);

/// One line a file, "path:line: text", as compilers write and editors read it.
[[nodiscard]] std::string quickfix_lines(const protocol::LocateResult& result, const std::string& directory);

/// How it was done: counts and times.
[[nodiscard]] std::string locate_explanation(const protocol::LocateResult& result, const Terminal& terminal);

}  // namespace kvboost::cli
