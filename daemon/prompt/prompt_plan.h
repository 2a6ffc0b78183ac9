// SPDX-License-Identifier: Apache-2.0
// PromptPlan: a prompt as an ordered list of parts, each with its own token ids. Ids are never made by
// joining strings: what stands beside a part cannot change it. Plain values, any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/tokenizer.h"

namespace kvboost::daemon {

enum class PartKind {
  kHeader,   // the constant opening of the model's template: the same ids in every prompt of a model
  kFile,     // a file's opening, or one chunk of it: a run of chunks stands behind the opening of its file
  kLiteral,  // instruction, question, earlier turns, the template's closing
};

struct PlanPart {
  PartKind kind = PartKind::kLiteral;
  std::string path{};           // kFile: relative to the work tree
  std::int32_t first_line = 0;  // kFile: the chunk's, 1-based, inclusive; 0 in an opening
  std::int32_t last_line = 0;
  bool whole_file = false;  // an opening's: all chunks of the file follow
  double score = 0;         // an opening's: why the file was chosen
  std::vector<engine::TokenId> tokens{};

  [[nodiscard]] bool is_opening() const { return kind == PartKind::kFile && first_line == 0; }
};

/// Something that would have been in the prompt but did not fit, or could not be read.
struct LeftOut {
  std::string path;
  std::string reason;
};

struct PromptPlan {
  std::vector<PlanPart> parts;
  std::vector<LeftOut> left_out;

  [[nodiscard]] std::size_t size() const {
    std::size_t n = 0;
    for (const PlanPart& part : parts) n += part.tokens.size();
    return n;
  }
  [[nodiscard]] std::vector<engine::TokenId> tokens() const {
    std::vector<engine::TokenId> all;
    all.reserve(size());
    for (const PlanPart& part : parts) all.insert(all.end(), part.tokens.begin(), part.tokens.end());
    return all;
  }
};

}  // namespace kvboost::daemon
