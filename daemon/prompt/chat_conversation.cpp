// SPDX-License-Identifier: Apache-2.0
// A chat that somebody else holds, in each family's turns.
#include <string>
#include <utility>

#include "daemon/prompt/chat_template.h"
#include "daemon/prompt/turn.h"

namespace kvboost::daemon {
namespace {

using engine::TextPosition;
using engine::TokenId;
using engine::Tokenizer;

class Conversation {
 public:
  Conversation(ChatFamily family, const Tokenizer& tokenizer)
      : family_(family), tokenizer_(tokenizer), turn_(tokenizer) {
    turn_.bos();
  }

  [[nodiscard]] bool has_system_turn() const {
    if (family_ == ChatFamily::kMistral) return has_control(tokenizer_, "[SYSTEM_PROMPT]");
    return family_ != ChatFamily::kGemma;
  }

  /// The beginning of a turn, with its text.
  void open(Speaker speaker, const std::string& text) {
    switch (family_) {
      case ChatFamily::kChatMl:
        turn_.mark("<|im_start|>").text(name(speaker) + "\n" + text);
        return;
      case ChatFamily::kLlama3:
        turn_.mark("<|start_header_id|>").text(name(speaker)).mark("<|end_header_id|>").text("\n\n" + text);
        return;
      case ChatFamily::kGemma:
        turn_.mark("<start_of_turn>").text((speaker == Speaker::kUser ? "user\n" : "model\n") + text);
        return;
      case ChatFamily::kMistral:
        return open_mistral(speaker, text);
      case ChatFamily::kPlain:
        break;
    }
    const std::string heading = speaker == Speaker::kSystem ? ""
                                : speaker == Speaker::kUser ? "## Request\n\n"
                                                            : "## Answer\n\n";
    turn_.text(heading + text, std::exchange(begun_, true) ? TextPosition::kInside : TextPosition::kStart);
  }

  void close(Speaker speaker) {
    switch (family_) {
      case ChatFamily::kChatMl:
        turn_.mark("<|im_end|>").text("\n");
        return;
      case ChatFamily::kLlama3:
        turn_.mark("<|eot_id|>");
        return;
      case ChatFamily::kGemma:
        turn_.mark("<end_of_turn>").text("\n");
        return;
      case ChatFamily::kMistral:
        return close_mistral(speaker);
      case ChatFamily::kPlain:
        turn_.text("\n\n");
        return;
    }
  }

  [[nodiscard]] std::vector<TokenId> take() { return turn_.take(); }

 private:
  static std::string name(Speaker speaker) {
    return speaker == Speaker::kSystem ? "system" : speaker == Speaker::kUser ? "user" : "assistant";
  }

  /// Newer vocabularies have control tokens for turns, older ones write them out.
  void open_mistral(Speaker speaker, const std::string& text) {
    if (speaker == Speaker::kSystem) {
      turn_.mark("[SYSTEM_PROMPT]").text(text);
    } else if (speaker == Speaker::kAssistant) {
      turn_.text(text);
    } else if (has_control(tokenizer_, "[INST]")) {
      turn_.mark("[INST]").text(text, TextPosition::kStart);
    } else {
      turn_.text("[INST] " + text, TextPosition::kStart);
    }
  }
  void close_mistral(Speaker speaker) {
    if (speaker == Speaker::kAssistant) {
      turn_.mark("</s>");
    } else if (speaker == Speaker::kSystem) {
      turn_.mark("[/SYSTEM_PROMPT]");
    } else if (has_control(tokenizer_, "[/INST]")) {
      turn_.mark("[/INST]");
    } else {
      turn_.text(" [/INST]");
    }
  }

  ChatFamily family_;
  const Tokenizer& tokenizer_;
  Turn turn_;
  bool begun_ = false;
};

}  // namespace

std::vector<TokenId> ChatTemplate::conversation(std::span<const ChatTurn> turns) const {
  Conversation chat(family_, *tokenizer_);
  std::string folded;  // the system's text, which waits for the user's
  for (const ChatTurn& said : turns) {
    if (said.speaker == Speaker::kSystem && !chat.has_system_turn()) {
      folded += said.text + "\n\n";
      continue;
    }
    chat.open(said.speaker,
              said.speaker == Speaker::kUser ? std::exchange(folded, {}) + said.text : said.text);
    if (said.speaker != Speaker::kAssistant || &said != &turns.back()) chat.close(said.speaker);
  }
  if (!folded.empty()) {
    chat.open(Speaker::kUser, folded);
    chat.close(Speaker::kUser);
  }
  if (turns.empty() || turns.back().speaker != Speaker::kAssistant) chat.open(Speaker::kAssistant, {});
  return chat.take();
}

}  // namespace kvboost::daemon
