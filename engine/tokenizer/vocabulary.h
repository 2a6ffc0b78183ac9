// SPDX-License-Identifier: Apache-2.0
// Vocabulary: the pieces of a GGUF's tokenizer with their types, and which ids end an answer. Owned by the
// tokenizer; immutable after `read`, any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/error.h"
#include "engine/tokenizer.h"

namespace kvboost::engine {

/// tokenizer.ggml.token_type; the values are the format's.
enum class PieceType : std::uint8_t {
  kNormal = 1,
  kUnknown = 2,
  kControl = 3,
  kUserDefined = 4,  // stands for its own text wherever that occurs
  kUnused = 5,
  kByte = 6,
};

class Vocabulary {
 public:
  /// kModel if the list is absent, empty or holds a piece twice, or if types or named ids do not fit it.
  /// Pieces that look like markup ("<|im_end|>") become control pieces whatever the file calls them: files
  /// exist that call them normal or user-defined.
  [[nodiscard]] static Result<Vocabulary> read(const Gguf& gguf);

  Vocabulary(Vocabulary&&) noexcept = default;
  Vocabulary& operator=(Vocabulary&&) noexcept = default;
  Vocabulary(const Vocabulary&) = delete;
  Vocabulary& operator=(const Vocabulary&) = delete;
  ~Vocabulary() = default;

  [[nodiscard]] std::int32_t size() const { return static_cast<std::int32_t>(texts_.size()); }
  [[nodiscard]] bool contains(TokenId id) const { return id >= 0 && id < size(); }
  /// As in the file: byte-level pieces in their printable alphabet, SentencePiece's spaces as U+2581. The id
  /// must be contained.
  [[nodiscard]] std::string_view text(TokenId id) const { return texts_[static_cast<std::size_t>(id)]; }
  [[nodiscard]] PieceType type(TokenId id) const { return types_[static_cast<std::size_t>(id)]; }
  [[nodiscard]] std::optional<TokenId> find(std::string_view text) const;

  /// tokenizer.ggml.bos_token_id.
  [[nodiscard]] std::optional<TokenId> bos() const { return bos_; }
  [[nodiscard]] bool is_end(TokenId id) const;
  [[nodiscard]] const FillMarks& fill_marks() const { return fill_marks_; }
  /// Ids of control pieces, ascending.
  [[nodiscard]] std::span<const TokenId> controls() const { return controls_; }

 private:
  Vocabulary() = default;
  [[nodiscard]] Result<void> read_pieces(const Gguf& gguf);
  [[nodiscard]] Result<void> read_types(const Gguf& gguf);
  [[nodiscard]] Result<void> read_ends(const Gguf& gguf);
  [[nodiscard]] Result<void> read_fill_marks(const Gguf& gguf);
  /// The id that the file names under this key, if it does. kModel if the vocabulary does not have it.
  [[nodiscard]] Result<std::optional<TokenId>> named(const Gguf& gguf, const std::string& key) const;
  void make_control(TokenId id);

  std::vector<std::string> texts_;
  std::vector<PieceType> types_;
  std::unordered_map<std::string_view, TokenId> ids_;  // keys are views of texts_
  std::optional<TokenId> bos_;
  FillMarks fill_marks_;
  std::vector<TokenId> ends_;  // sorted
  std::vector<TokenId> controls_;
};

}  // namespace kvboost::engine
