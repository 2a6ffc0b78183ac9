// SPDX-License-Identifier: Apache-2.0
// `kvboost ask`: a question about the repository one stands in; the answer is written as it comes.
#pragma once

#include <string>
#include <vector>

#include "cli/client.h"
#include "cli/interrupt.h"
#include "cli/session.h"
#include "daemon/protocol/methods.h"

namespace kvboost::cli {

struct AskArguments {
  std::vector<std::string> words;  // the question, unless `file` has it, then paths
  std::string file;
  bool continue_conversation = false;
  bool no_reuse = false;
  bool explain = false;
  bool json = false;
};

[[nodiscard]] int ask(Session& session, const AskArguments& arguments);

/// A question with what the configuration says of answers.
[[nodiscard]] protocol::AskParams ask_params(const Session& session, std::string question,
                                             std::vector<std::string> paths);

/// Sends it, and writes the answer as it comes; the exit code.
[[nodiscard]] int write_answer(Session& session, Client& client, Interrupt& interrupt,
                               const protocol::AskParams& params, const AskArguments& arguments);

/// The tables of --explain.
[[nodiscard]] std::string explain(const protocol::AskResult& result, const Terminal& terminal);

/// One line for the terminal: "reading the prompt 1,024 of 6,200 tokens".
[[nodiscard]] std::string progress_text(const protocol::AskProgress& progress);

/// The files that did not get into the prompt, a line each; more than a few only counted.
[[nodiscard]] std::vector<std::string> left_out_lines(const std::vector<protocol::AskLeftOut>& left_out,
                                                      bool all);

}  // namespace kvboost::cli
