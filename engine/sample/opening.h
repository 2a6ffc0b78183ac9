// SPDX-License-Identifier: Apache-2.0
// Opening: makes a text begin with given bytes, token by token: only tokens that go on with them are taken,
// the last one of which may lead beyond. Belongs to one generation, one thread.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/tokenizer.h"

namespace kvboost::engine {

class Opening {
 public:
  /// The tokenizer is borrowed.
  Opening(std::string bytes, const Tokenizer& tokenizer) : left_(std::move(bytes)), tokenizer_(tokenizer) {}

  /// The logits without the tokens that do not go on with what is left of the opening; nothing if none does.
  /// Borrowed until the next call.
  [[nodiscard]] std::optional<std::span<const float>> fitting(std::span<const float> logits);

  /// What a token that was taken says behind the opening.
  [[nodiscard]] std::string_view rest_of(TokenId token);

 private:
  std::string left_;
  const Tokenizer& tokenizer_;
  std::vector<float> fitting_;
};

}  // namespace kvboost::engine
