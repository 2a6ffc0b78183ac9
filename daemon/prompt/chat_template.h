// SPDX-License-Identifier: Apache-2.0
// ChatTemplate: the turns of a chat as token ids, by family. The opening (system turn and the start of the
// user's) is constant for a model and kept apart: KV blocks are computed right behind it. Immutable, any
// thread; the tokenizer is borrowed and must outlive it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "engine/tokenizer.h"

namespace kvboost::daemon {

enum class ChatFamily { kChatMl, kLlama3, kGemma, kMistral, kPlain };
[[nodiscard]] std::string_view to_string(ChatFamily family);

enum class Speaker { kSystem, kUser, kAssistant };
struct ChatTurn {
  Speaker speaker = Speaker::kUser;
  std::string text;
};

class ChatTemplate {
 public:
  /// Recognised by the control tokens in the vocabulary and the GGUF's chat_template text; kPlain when none
  /// fits (a base model): headings and blank lines.
  /// `context`: tokens that the model takes; 0: not known.
  [[nodiscard]] static ChatTemplate detect(const engine::Tokenizer& tokenizer, std::int32_t context = 0);
  ChatTemplate(ChatFamily family, const engine::Tokenizer& tokenizer);

  [[nodiscard]] ChatFamily family() const { return family_; }
  /// BOS (where the model wants it), the constant system text, the start of the first user turn and, where
  /// the context has room, a guide to the files that follow.
  [[nodiscard]] std::vector<engine::TokenId> header() const;
  /// The end of a user turn and the start of the assistant's.
  [[nodiscard]] std::vector<engine::TokenId> turn_to_assistant() const;
  /// The end of an assistant turn and the start of the next user turn.
  [[nodiscard]] std::vector<engine::TokenId> turn_to_user() const;
  /// A chat that somebody else holds, without the header's system text, up to where the assistant's next
  /// words come. A last turn of the assistant is left open, to be gone on with. Where the family has no
  /// system turn, its text stands before the next user's.
  [[nodiscard]] std::vector<engine::TokenId> conversation(std::span<const ChatTurn> turns) const;
  /// The opening of a file: its path, marked with the model's own file tokens where it has them
  /// (<file_sep>, <|file_sep|>), else a plain line.
  [[nodiscard]] std::vector<engine::TokenId> file_opening(std::string_view path) const;

 private:
  [[nodiscard]] std::vector<engine::TokenId> short_header() const;

  ChatFamily family_;
  std::vector<engine::TokenId> guide_;
  const engine::Tokenizer* tokenizer_;
};

}  // namespace kvboost::daemon
