// SPDX-License-Identifier: Apache-2.0
// Prompts for the reuse bench: the beginnings of files of a repository, in shuffled order, with a question
// that has four answers. One thread.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "daemon/pipeline/file_blocks.h"
#include "daemon/prompt/prompt_plan.h"
#include "daemon/prompt/repository.h"

namespace kvboost::bench {

/// The beginning of a file, as the warmer would store it.
struct PromptFile {
  std::string path;
  daemon::BlockGroup group;  // header, opening, chunks
};

/// Files of which at least half of `tokens` can be taken, each cut to about `tokens`, in random order.
[[nodiscard]] std::vector<PromptFile> prompt_files(const daemon::Repository& repository,
                                                   const daemon::ChatTemplate& chat,
                                                   const engine::Tokenizer& tokenizer, const Digest& context,
                                                   std::size_t tokens, std::size_t most,
                                                   std::mt19937& random);

/// `files` in the given order, and a question about one of them.
[[nodiscard]] daemon::PromptPlan question_about(const std::vector<const PromptFile*>& files,
                                                const daemon::ChatTemplate& chat,
                                                const engine::Tokenizer& tokenizer, std::mt19937& random);

}  // namespace kvboost::bench
