// SPDX-License-Identifier: Apache-2.0
// Tokenizer: text ↔ token ids, built from a GGUF's own vocabulary and merges. Torch-free. Immutable after
// construction: any thread may call it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace kvboost::engine {

class Gguf;
using TokenId = std::int32_t;

/// The marks that a file names for filling in the middle (tokenizer.ggml.fim_pre_token_id and its like, or
/// the older prefix_token_id, suffix_token_id, middle_token_id).
struct FillMarks {
  std::optional<TokenId> prefix, suffix, middle;
  std::optional<TokenId> repository, file;  // what opens a repository's name, and a file
};

/// Where a text stands in a prompt. At the very start, a model whose training put a space before every text
/// (Llama 2, Mistral) gets that space; everywhere else text is taken as it is.
enum class TextPosition { kInside, kStart };

class Tokenizer {
 public:
  /// Reads tokenizer.ggml.* . An unknown tokenizer.ggml.model or .pre is kModel, with the names that are
  /// known; `force` takes the "default" pre-tokenizer for an absent or unknown .pre instead.
  [[nodiscard]] static Result<Tokenizer> from_gguf(const Gguf& gguf, bool force = false);

  Tokenizer(Tokenizer&&) noexcept;
  Tokenizer& operator=(Tokenizer&&) noexcept;
  ~Tokenizer();

  /// Ids of `text` (any bytes; invalid UTF-8 goes through as bytes). Control and special tokens are never
  /// produced, whatever the text says: "<|im_end|>" comes out as ordinary tokens. A byte for which the
  /// vocabulary has no token at all (SmolLM2 lacks a few control characters) is left out.
  [[nodiscard]] std::vector<TokenId> encode(std::string_view text,
                                            TextPosition position = TextPosition::kInside) const;

  /// How many tokens `encode` gives.
  [[nodiscard]] std::size_t count(std::string_view text) const { return encode(text).size(); }

  /// The id whose vocabulary entry is exactly `piece` ("<|im_start|>"); for templates.
  [[nodiscard]] std::optional<TokenId> special(std::string_view piece) const;

  /// The id's vocabulary entry as it stands in the file, control tokens too; `special` leads back. Empty when
  /// out of range.
  [[nodiscard]] std::string_view piece(TokenId id) const;

  /// Bytes of one token. Control tokens give an empty string. A multi-byte character can be spread over
  /// several tokens: see Utf8Stream.
  [[nodiscard]] std::string_view bytes(TokenId id) const;
  [[nodiscard]] std::string decode(std::span<const TokenId> ids) const;

  [[nodiscard]] std::optional<TokenId> bos() const;  // bos_token_id
  [[nodiscard]] bool adds_bos() const;               // whether a prompt begins with it
  [[nodiscard]] bool is_end(TokenId id) const;       // end of text, of turn, of message
  [[nodiscard]] bool is_control(TokenId id) const;
  [[nodiscard]] std::span<const TokenId> controls() const;  // all that are, ascending
  [[nodiscard]] const FillMarks& fill_marks() const;
  [[nodiscard]] std::int32_t vocabulary() const;
  [[nodiscard]] std::string_view pre_tokenizer() const;  // "smollm"; empty for SentencePiece
  /// tokenizer.chat_template, or empty.
  [[nodiscard]] std::string_view chat_template() const;

 private:
  struct Impl;
  explicit Tokenizer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// Joins token bytes into whole UTF-8 characters for streaming: `push` returns what is complete; `flush` the
/// rest, ill-formed bytes as U+FFFD. One thread at a time.
class Utf8Stream {
 public:
  [[nodiscard]] std::string push(std::string_view bytes);
  [[nodiscard]] std::string flush();

 private:
  std::string pending_;
};

}  // namespace kvboost::engine
