// SPDX-License-Identifier: Apache-2.0
#include "daemon/prompt/chunk_cache.h"

#include <algorithm>
#include <utility>

namespace kvboost::daemon {
namespace {

constexpr std::int32_t kSampledPieces = 256;

// A tokenizer's address says nothing, since the next model may get the same. Its kind, its size and pieces
// from all over its vocabulary do.
void add_identity(Hasher& hasher, const engine::Tokenizer& tokenizer) {
  const std::int32_t vocabulary = tokenizer.vocabulary();
  hasher.update_u64(static_cast<std::uint64_t>(vocabulary)).update(tokenizer.pre_tokenizer());
  const std::int32_t step = std::max(1, vocabulary / kSampledPieces);
  for (std::int32_t id = 0; id < vocabulary; id += step) {
    const std::string_view piece = tokenizer.bytes(id);
    hasher.update_u64(piece.size()).update(piece);
  }
}

std::uint64_t size_of(const EncodedFile& file) {
  std::uint64_t bytes = 256;  // the entry itself, about
  for (const EncodedChunk& chunk : file)
    bytes += sizeof(chunk) + chunk.tokens.size() * sizeof(engine::TokenId);
  return bytes;
}

}  // namespace

EncodedFile cut_and_encode(const engine::Tokenizer& tokenizer, std::string_view path, std::string_view text,
                           const cache::ChunkOptions& options) {
  const auto count = [&](std::string_view piece) { return tokenizer.count(piece); };
  EncodedFile file;
  for (const cache::Chunk& span : cache::chunk(path, text, options, count).chunks) {
    std::string piece(text.substr(span.begin, span.end - span.begin));
    if (span.end == text.size() && !piece.ends_with('\n')) piece += '\n';
    file.push_back({span, piece.ends_with('\n'), tokenizer.encode(piece)});
  }
  return file;
}

std::shared_ptr<const EncodedFile> ChunkCache::encode(const engine::Tokenizer& tokenizer,
                                                      std::string_view path, std::string_view text) {
  Hasher hasher;
  add_identity(hasher, tokenizer);
  const Digest key = hasher.update_u64(path.size()).update(path).update(text).finish();
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = by_key_.find(key); found != by_key_.end()) {
      entries_.splice(entries_.begin(), entries_, found->second);
      return found->second->file;
    }
  }
  auto file = std::make_shared<const EncodedFile>(cut_and_encode(tokenizer, path, text, options_));
  keep({key, file, size_of(*file)});
  return file;
}

std::uint64_t ChunkCache::bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

void ChunkCache::keep(Entry entry) {
  const std::lock_guard lock(mutex_);
  if (by_key_.contains(entry.key)) return;  // another thread was faster
  bytes_ += entry.bytes;
  entries_.push_front(std::move(entry));
  by_key_[entries_.front().key] = entries_.begin();
  while (bytes_ > max_bytes_) {
    bytes_ -= entries_.back().bytes;
    by_key_.erase(entries_.back().key);
    entries_.pop_back();
  }
}

}  // namespace kvboost::daemon
