// SPDX-License-Identifier: Apache-2.0
// `kvboost complete`: what is missing at a place in a file, as an editor would show it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/session.h"
#include "daemon/protocol/methods.h"

namespace kvboost::cli {

struct CompleteArguments {
  std::string file;
  std::optional<std::int64_t> offset;  // none: the end
  bool saved = false;                  // the buffer is what the file says, not standard input
  std::string shape = "auto";
  std::vector<std::string> ring;  // "path" or "path:line"
  std::int32_t alternatives = 1;
  std::int32_t max_tokens = 0;
  std::string budget;  // a time, or empty
  bool no_reuse = false;
  bool explain = false;
  bool json = false;
};

[[nodiscard]] int complete(Session& session, const CompleteArguments& arguments);

/// The hints as text: one as it is, several under lines that number them.
[[nodiscard]] std::string hints_text(const protocol::CompleteResult& result);

/// What the prompt was made of, and how long it took.
[[nodiscard]] std::string complete_explanation(const protocol::CompleteResult& result,
                                               const Terminal& terminal);

}  // namespace kvboost::cli
