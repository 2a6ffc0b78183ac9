// SPDX-License-Identifier: Apache-2.0
// FillInMiddle: how a model is asked for what is missing between two texts, by family: its marks, their order
// (docs/complete.md has the table), and how it is told of a repository and its files. Immutable, any thread;
// the tokenizer is borrowed and must outlive it.
#pragma once

#include <string_view>
#include <vector>

#include "daemon/prompt/chat_template.h"
#include "engine/tokenizer.h"

namespace kvboost::daemon {

enum class FillFamily { kNone, kQwen, kStarCoder, kCodeLlama, kDeepSeek, kCodestral, kOther };
[[nodiscard]] std::string_view to_string(FillFamily family);

class FillInMiddle {
 public:
  /// By the marks in the vocabulary, else by those that the file names (kOther); kNone where the model has
  /// none.
  [[nodiscard]] static FillInMiddle detect(const engine::Tokenizer& tokenizer, const ChatTemplate& chat);

  [[nodiscard]] FillFamily family() const { return family_; }
  /// False: the model can only go on behind a text.
  [[nodiscard]] bool available() const { return family_ != FillFamily::kNone; }
  /// Whether the text behind the gap comes before the one in front of it.
  [[nodiscard]] bool suffix_first() const { return family_ == FillFamily::kCodestral; }

  using Tokens = std::vector<engine::TokenId>;
  /// Before the first file; empty for families that were not told of repositories.
  [[nodiscard]] Tokens repository(std::string_view name) const;
  /// The opening of the file with the gap, up to where its text begins. A file with suffix_first has the
  /// text behind the gap next, then `before_prefix`.
  [[nodiscard]] Tokens opening(std::string_view path) const;
  [[nodiscard]] const Tokens& before_suffix() const { return before_suffix_; }
  [[nodiscard]] const Tokens& before_prefix() const { return before_prefix_; }
  /// Behind all else: the missing text comes next.
  [[nodiscard]] const Tokens& before_middle() const { return before_middle_; }

 private:
  FillInMiddle(FillFamily family, const engine::Tokenizer& tokenizer, const ChatTemplate& chat)
      : family_(family), tokenizer_(&tokenizer), chat_(&chat) {}

  FillFamily family_;
  const engine::Tokenizer* tokenizer_;
  const ChatTemplate* chat_;
  Tokens repository_, before_prefix_, before_suffix_, before_middle_;
};

}  // namespace kvboost::daemon
