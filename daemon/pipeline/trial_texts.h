// SPDX-License-Identifier: Apache-2.0
// What a model's reuse is tried on (reuse_trial.h): built-in files and questions, which say whether a model
// can be served from moved blocks at all, or a repository's own files, which say how much repair it needs
// there: files of one project are more alike than those of many. Pure functions, any thread.
#pragma once

#include <string>
#include <vector>

#include "daemon/pipeline/neighbour_run.h"

namespace kvboost::daemon {

/// What stands before a file when its blocks are computed: the header alone, or neighbours behind it.
enum class Behind { kHeader, kNeighbours };
[[nodiscard]] std::string_view to_string(Behind behind);

struct TrialTexts {
  std::vector<cache::Neighbour> files{};       // path and text
  std::vector<std::string> questions{};        // one a prompt; {} stands for the path of its first file
  std::vector<cache::Neighbour> neighbours{};  // none: blocks are computed behind the header alone
};

[[nodiscard]] TrialTexts builtin_texts(Behind behind);

/// The beginnings of files of the repository, none of which `neighbours` are from. No files where it has too
/// few of them.
[[nodiscard]] TrialTexts repository_texts(Repository& repository, const engine::Tokenizer& tokenizer,
                                          std::vector<cache::Neighbour> neighbours);

}  // namespace kvboost::daemon
