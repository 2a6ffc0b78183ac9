// SPDX-License-Identifier: Apache-2.0
// Encoder: one way to turn text into the ids of a vocabulary, and a piece into its bytes. Owned by the
// tokenizer, which keeps the vocabulary that an encoder borrows. Immutable, any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/tokenizer.h"

namespace kvboost::engine {

class Encoder {
 public:
  Encoder() = default;
  Encoder(const Encoder&) = delete;
  Encoder& operator=(const Encoder&) = delete;
  virtual ~Encoder() = default;

  /// Appends the ids of `text`, which is well-formed UTF-8.
  virtual void encode(std::string_view text, std::vector<TokenId>& ids) const = 0;
  /// Appends the id of one byte that belongs to no well-formed character.
  virtual void encode_byte(unsigned char byte, std::vector<TokenId>& ids) const = 0;
  /// The text that a piece stands for.
  [[nodiscard]] virtual std::string bytes(TokenId id) const = 0;
  /// The name of its pre-tokenizer, or empty.
  [[nodiscard]] virtual std::string_view pre_tokenizer() const = 0;
  /// Whether a prompt begins with BOS where the file does not say.
  [[nodiscard]] virtual bool adds_bos() const = 0;
  /// Whether the model was trained on texts with a space put before them.
  [[nodiscard]] virtual bool adds_space() const = 0;
};

}  // namespace kvboost::engine
