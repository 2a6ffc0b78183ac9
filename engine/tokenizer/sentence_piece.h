// SPDX-License-Identifier: Apache-2.0
// SentencePiece BPE (tokenizer.ggml.model = llama): characters are the first tokens, a space is U+2581,
// neighbours that are a piece together merge in the order of the pieces' scores, and a character without a
// piece becomes bytes.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "engine/tokenizer/encoder.h"
#include "engine/tokenizer/merge_table.h"
#include "engine/tokenizer/vocabulary.h"

namespace kvboost::engine {

class SentencePieceEncoder : public Encoder {
 public:
  /// kModel if the scores do not fit the pieces, or if plain text has characters that are neither pieces nor
  /// bytes. Other characters may lack both: they are left out of what is encoded.
  [[nodiscard]] static Result<std::unique_ptr<Encoder>> read(const Gguf& gguf, const Vocabulary& vocabulary);

  void encode(std::string_view text, std::vector<TokenId>& ids) const override;
  void encode_byte(unsigned char byte, std::vector<TokenId>& ids) const override;
  [[nodiscard]] std::string bytes(TokenId id) const override;
  [[nodiscard]] std::string_view pre_tokenizer() const override { return {}; }
  [[nodiscard]] bool adds_bos() const override { return true; }
  [[nodiscard]] bool adds_space() const override { return adds_space_; }

 private:
  explicit SentencePieceEncoder(const Vocabulary& vocabulary) : vocabulary_(&vocabulary), merges_(0) {}
  [[nodiscard]] Result<void> find_characters();
  [[nodiscard]] Result<void> read_merges(const Gguf& gguf);
  void find_inner_spaces();
  [[nodiscard]] bool is_piece(TokenId id) const;
  [[nodiscard]] TokenId character_id(std::string_view character) const;
  [[nodiscard]] bool ends_word(std::string_view character) const;

  const Vocabulary* vocabulary_;
  MergeTable merges_;
  std::array<TokenId, 256> byte_ids_{};   // kNoToken where the vocabulary has none
  std::array<TokenId, 128> ascii_ids_{};  // likewise
  std::vector<char32_t> before_spaces_;   // sorted: what stands before a space inside a piece
  bool adds_space_ = true;
};

}  // namespace kvboost::engine
