// SPDX-License-Identifier: Apache-2.0
// From a question to a plan: header, spans of files, instruction and question, in this order, so that prompts
// over the same files share their beginning. Equal input gives an equal plan. Any thread.
//
// Files that are named are taken whole, in the given order; of one that does not fit, its most fitting
// chunks. With none named, and of a named folder, spans are chosen by words (BM25 over content and path)
// until their budget is filled or the rest is much less to the point; what does not fit is listed in
// left_out. They stand in the order of their paths, not of their scores: similar questions then begin alike,
// and their KV is reused. The README's beginning comes before all others.
#pragma once

#include <cstdint>
#include <filesystem>
#include <stop_token>
#include <string>
#include <vector>

#include "base/error.h"
#include "daemon/prompt/chat_template.h"
#include "daemon/prompt/prompt_plan.h"
#include "daemon/prompt/repository.h"

namespace kvboost::daemon {

struct AssembleRequest {
  std::string question;
  std::vector<std::string>
      paths;  // files or folders, relative to `directory` or absolute; empty: chosen by words
  std::filesystem::path directory;  // absolute: where the user stands
  std::int32_t budget = 0;          // most tokens of the whole prompt
  std::int32_t by_words = 0;        // most tokens of what is chosen by words; 0: as many as fit
};

/// The repository must have been refreshed. kInvalidArgument: the question alone does not fit, a path is
/// outside of the work tree, secret or not text, or nothing of what is named can be taken. kNotFound: a path
/// that is not there.
[[nodiscard]] Result<PromptPlan> assemble(Repository& repository, const AssembleRequest& request,
                                          const ChatTemplate& chat, const engine::Tokenizer& tokenizer,
                                          const std::stop_token& stop);

}  // namespace kvboost::daemon
