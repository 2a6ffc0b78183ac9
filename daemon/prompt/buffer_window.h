// SPDX-License-Identifier: Apache-2.0
// BufferWindow: what of a buffer stands in front of the cursor in a prompt, such that a key changes only its
// end: whole chunks up to the cursor's, cut once and kept while their text stays, then the text up to the
// cursor. Belongs to one editor's buffer; one thread at a time.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/prompt/chunk_cache.h"
#include "daemon/prompt/edit_buffer.h"
#include "engine/tokenizer.h"

namespace kvboost::daemon {

class BufferWindow {
 public:
  struct Options {
    std::string path{};  // tells the language
    cache::ChunkOptions chunking{};
    std::size_t budget = 2048;  // tokens, chunks and text together
  };

  /// Follows the buffer to where it is now.
  void update(const EditBuffer& buffer, const engine::Tokenizer& tokenizer, const Options& options);

  /// Chunks of the file in their order, those nearest to the cursor without a gap, and its first one.
  [[nodiscard]] const std::vector<EncodedChunk>& chunks() const { return chunks_; }
  /// The text between them and the cursor. Its last token is not among them: it may be half of one, so what
  /// is written next has to begin with its bytes.
  [[nodiscard]] const std::vector<engine::TokenId>& tail() const { return tail_; }
  [[nodiscard]] const std::string& opening() const { return opening_; }
  [[nodiscard]] std::size_t size() const;  // tokens

 private:
  void cut(const EditBuffer& buffer, const engine::Tokenizer& tokenizer, const Options& options);
  [[nodiscard]] std::vector<engine::TokenId> encode_tail(const EditBuffer& buffer,
                                                         const engine::Tokenizer& tokenizer) const;
  [[nodiscard]] std::size_t tail_begin() const { return chunks_.empty() ? begin_ : chunks_.back().span.end; }

  std::vector<EncodedChunk> chunks_;
  std::size_t begin_ = 0;         // of what is told, where there are no chunks
  std::string text_;              // up to the last chunk's end, as it was cut
  std::size_t longest_tail_ = 0;  // a longer one is cut into chunks
  bool is_cut_ = false;
  std::vector<engine::TokenId> tail_;
  std::string opening_;
};

}  // namespace kvboost::daemon
