// SPDX-License-Identifier: Apache-2.0
#include "bench/reuse_prompts.h"

#include <algorithm>
#include <array>

namespace kvboost::bench {
namespace {

using daemon::PartKind;

constexpr std::array<const char*, 6> kQuestions = {
    "Which of these files is the longest?",
    "Which of these files has the most to do with reading and writing files on disk?",
    "Which of these files would you change to make the program faster?",
    "Which of these files depends on most of the others?",
    "In which of these files are errors handled with the most care?",
    "Which of these files would a newcomer read first?",
};

}  // namespace

std::vector<PromptFile> prompt_files(const daemon::Repository& repository, const daemon::ChatTemplate& chat,
                                     const engine::Tokenizer& tokenizer, const Digest& context,
                                     std::size_t tokens, std::size_t most, std::mt19937& random) {
  std::vector<std::string> paths = repository.files();
  std::ranges::shuffle(paths, random);
  std::vector<PromptFile> files;
  for (const std::string& path : paths) {
    if (files.size() == most) break;
    const auto text = repository.read(path);
    if (!text || text->size() > 200'000) continue;
    const auto groups = daemon::group_blocks(daemon::cut_and_encode(tokenizer, path, *text, {}), path, chat,
                                             context, 2 * daemon::kGroupTokens);
    if (groups.empty()) continue;
    PromptFile file{path, {}};
    std::size_t taken = 0;
    for (const daemon::BlockPart& part : groups.front()) {
      const bool chunk = file.group.size() >= daemon::kFirstChunk;
      if (chunk && taken + part.tokens.size() > tokens) break;
      taken += chunk ? part.tokens.size() : 0;
      file.group.push_back(part);
    }
    if (taken >= tokens / 2) files.push_back(std::move(file));
  }
  return files;
}

daemon::PromptPlan question_about(const std::vector<const PromptFile*>& files,
                                  const daemon::ChatTemplate& chat, const engine::Tokenizer& tokenizer,
                                  std::mt19937& random) {
  daemon::PromptPlan plan;
  plan.parts.push_back({.kind = PartKind::kHeader, .tokens = chat.header()});
  for (const PromptFile* file : files) {
    for (std::size_t i = 1; i < file->group.size(); ++i) {
      const daemon::BlockPart& part = file->group[i];
      plan.parts.push_back({.kind = PartKind::kFile,
                            .path = file->path,
                            .first_line = part.span.end > 0 ? part.span.first_line : 0,
                            .tokens = part.tokens});
    }
  }
  std::vector<const PromptFile*> named = files;
  std::ranges::shuffle(named, random);
  std::string question = "\nAnswer the question about the files above with one letter.\n\nQuestion: ";
  question += kQuestions[random() % kQuestions.size()];
  for (std::size_t i = 0; i < std::min<std::size_t>(4, named.size()); ++i) {
    question += std::string("\n") + static_cast<char>('A' + i) + ". " + named[i]->path;
  }
  plan.parts.push_back({.tokens = tokenizer.encode(question)});
  auto closing = chat.turn_to_assistant();
  const auto answer = tokenizer.encode("Answer:");
  closing.insert(closing.end(), answer.begin(), answer.end());
  plan.parts.push_back({.tokens = std::move(closing)});
  return plan;
}

}  // namespace kvboost::bench
