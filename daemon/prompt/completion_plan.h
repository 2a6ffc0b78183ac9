// SPDX-License-Identifier: Apache-2.0
// CompletionPlan: a prompt for what is missing at a cursor, and how it is put together. Plain values and a
// pure function, any thread.
//
//   header [repository] related* opening chunk* tail [suffix] [middle]      where the prefix comes first
//   header related* opening suffix chunk* tail                              where the suffix does
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/prompt/buffer_window.h"
#include "daemon/prompt/chat_template.h"
#include "daemon/prompt/fill_in_middle.h"
#include "daemon/prompt/prompt_plan.h"

namespace kvboost::daemon {

struct CompletionPlan {
  /// Ends with the text in front of the cursor, so that a key changes its end only.
  PromptPlan prompt;
  /// The text behind the cursor with its mark, where it comes behind the prompt: a key moves it, and leaves
  /// its tokens what they are. May be empty.
  std::vector<engine::TokenId> suffix;
  std::vector<engine::TokenId> closing;  // behind all: the missing text comes next
  /// What is written begins with these bytes, which are in the buffer already.
  std::string opening;
  FillFamily family = FillFamily::kNone;  // whose marks it has

  [[nodiscard]] std::size_t size() const { return prompt.size() + suffix.size() + closing.size(); }
};

struct CompletionParts {
  const ChatTemplate& chat;
  const FillInMiddle& fill;
  std::string_view repository;  // its name
  std::string path;             // of the file, relative to the work tree
  bool is_stored = false;       // whether blocks of the file's chunks may be stored
  std::span<const PlanPart> related;
  const BufferWindow& window;
  std::vector<engine::TokenId> suffix;  // left out where the model has no place for it
};

[[nodiscard]] CompletionPlan make_completion_plan(CompletionParts parts);

}  // namespace kvboost::daemon
