// SPDX-License-Identifier: Apache-2.0
#include "cache/key/chunk_key.h"

#include <bit>

namespace kvboost::cache {
namespace {

static_assert(std::endian::native == std::endian::little, "token ids are hashed as they stand in memory");

Hasher& add_tokens(Hasher& hasher, std::span<const std::int32_t> tokens) {
  return hasher.update_u64(tokens.size()).update(std::as_bytes(tokens));
}

Hasher& add(Hasher& hasher, const Digest& digest) {
  return hasher.update(std::as_bytes(std::span(digest.bytes)));
}

}  // namespace

Digest key_context(const Digest& model_fingerprint, std::span<const std::int32_t> header) {
  Hasher hasher;
  hasher.update("kvboost context");
  return add_tokens(add(hasher, model_fingerprint), header).finish();
}

ChunkKey KeyChain::next(std::span<const std::int32_t> tokens) {
  Hasher content;
  content.update("kvboost content");
  ChunkKey key;
  key.content = add_tokens(add(content, context_), tokens).finish();
  key.prefix = last_ = prefix_key(last_, key.content);
  return key;
}

Digest prefix_key(const Digest& previous, const Digest& content_key) {
  Hasher prefix;
  prefix.update("kvboost prefix");
  return add(add(prefix, previous), content_key).finish();
}

}  // namespace kvboost::cache
