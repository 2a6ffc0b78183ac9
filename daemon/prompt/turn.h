// SPDX-License-Identifier: Apache-2.0
// Turn: token ids put together from marks, which become control tokens, and text, which never does. For the
// templates of this folder; made and taken on one thread, the tokenizer is borrowed.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "engine/tokenizer.h"

namespace kvboost::daemon {

class Turn {
 public:
  explicit Turn(const engine::Tokenizer& tokenizer) : tokenizer_(tokenizer) {}

  Turn& bos() {
    if (tokenizer_.adds_bos()) ids_.push_back(*tokenizer_.bos());
    return *this;
  }
  /// A mark that the vocabulary does not have is written out.
  Turn& mark(std::string_view name) {
    if (const auto id = tokenizer_.special(name)) {
      ids_.push_back(*id);
      return *this;
    }
    return text(name);
  }
  Turn& text(std::string_view words, engine::TextPosition position = engine::TextPosition::kInside) {
    const auto ids = tokenizer_.encode(words, position);
    ids_.insert(ids_.end(), ids.begin(), ids.end());
    return *this;
  }
  [[nodiscard]] std::vector<engine::TokenId> take() { return std::move(ids_); }

 private:
  const engine::Tokenizer& tokenizer_;
  std::vector<engine::TokenId> ids_;
};

[[nodiscard]] inline bool has_control(const engine::Tokenizer& tokenizer, std::string_view name) {
  const auto id = tokenizer.special(name);
  return id && tokenizer.is_control(*id);
}

}  // namespace kvboost::daemon
