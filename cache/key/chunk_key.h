// SPDX-License-Identifier: Apache-2.0
// chunk_key: the names of blocks. A content key says which tokens a block is of, a prefix key also what stood
// before them: two chunks with the same prefix key have the same KV. Both cover the model and the header that
// all prompts of it begin with. Plain values, any thread.
//
//   context     = SHA-256("kvboost context" model_fingerprint header)       header, tokens := n:u64 id:u32{n}
//   content key = SHA-256("kvboost content" context tokens)
//   prefix key  = SHA-256("kvboost prefix" previous content_key)      previous := prefix_key, or context
#pragma once

#include <cstdint>
#include <span>

#include "base/digest.h"

namespace kvboost::cache {

struct ChunkKey {
  Digest content;
  Digest prefix;

  bool operator==(const ChunkKey&) const = default;
};

/// What all chunks of a model's prompts have in common.
[[nodiscard]] Digest key_context(const Digest& model_fingerprint, std::span<const std::int32_t> header);

/// The prefix key of a part behind another.
[[nodiscard]] Digest prefix_key(const Digest& previous, const Digest& content_key);

/// Names the parts of a prompt from its beginning on, the header being the first.
class KeyChain {
 public:
  explicit KeyChain(const Digest& context) : context_(context), last_(context) {}

  /// The key of the part that comes next.
  ChunkKey next(std::span<const std::int32_t> tokens);

 private:
  Digest context_;
  Digest last_;
};

}  // namespace kvboost::cache
