// SPDX-License-Identifier: Apache-2.0
// Byte-level BPE (tokenizer.ggml.model = gpt2): text is cut into words, a word's bytes are the first tokens,
// and the merge list joins them. Pieces are written in an alphabet of 256 printable characters, one a byte.
#pragma once

#include <array>
#include <memory>
#include <unordered_map>

#include "engine/tokenizer/encoder.h"
#include "engine/tokenizer/merge_table.h"
#include "engine/tokenizer/pre_tokenizer.h"
#include "engine/tokenizer/vocabulary.h"

namespace kvboost::engine {

class ByteLevelEncoder : public Encoder {
 public:
  /// kModel for an unknown pre-tokenizer (unless forced), a merge that names a piece which is not there, or a
  /// vocabulary without the bytes of plain text. Other bytes may lack a token, as in the reference: they are
  /// left out of what is encoded.
  [[nodiscard]] static Result<std::unique_ptr<Encoder>> read(const Gguf& gguf, const Vocabulary& vocabulary,
                                                             bool force);

  void encode(std::string_view text, std::vector<TokenId>& ids) const override;
  void encode_byte(unsigned char byte, std::vector<TokenId>& ids) const override;
  [[nodiscard]] std::string bytes(TokenId id) const override;
  [[nodiscard]] std::string_view pre_tokenizer() const override { return pre_tokenizer_.name(); }
  [[nodiscard]] bool adds_bos() const override { return pre_tokenizer_.adds_bos(); }
  [[nodiscard]] bool adds_space() const override { return false; }

 private:
  ByteLevelEncoder(const Vocabulary& vocabulary, PreTokenizer pre_tokenizer, std::size_t merges);
  [[nodiscard]] Result<void> find_bytes();
  [[nodiscard]] Result<void> read_merges(const std::vector<std::string>& merges);
  void index_whole_words();

  const Vocabulary* vocabulary_;
  PreTokenizer pre_tokenizer_;
  MergeTable merges_;
  std::array<TokenId, 256> byte_ids_;  // kNoToken where the vocabulary has none
  std::unordered_map<std::string, TokenId>
      whole_words_;  // by their bytes; if the pre-tokenizer wants them first
};

}  // namespace kvboost::engine
