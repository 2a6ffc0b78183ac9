// SPDX-License-Identifier: Apache-2.0
// ChunkCache: the chunks of files that prompts took lately, with their token ids, so that a prompt over the
// same files costs neither parsing nor encoding. Least recently used go first. Any thread.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/digest.h"
#include "cache/chunk/chunker.h"
#include "engine/tokenizer.h"

namespace kvboost::daemon {

/// Each chunk is encoded alone, so that its ids are the same whatever stands beside it.
struct EncodedChunk {
  cache::Chunk span;
  bool ends_line = false;  // with "\n"
  std::vector<engine::TokenId> tokens;
};

using EncodedFile = std::vector<EncodedChunk>;

/// Cuts `text` (line ends "\n") into chunks and encodes each; the last one gets the line end that it may
/// lack. `path` tells the language.
[[nodiscard]] EncodedFile cut_and_encode(const engine::Tokenizer& tokenizer, std::string_view path,
                                         std::string_view text, const cache::ChunkOptions& options);

class ChunkCache {
 public:
  explicit ChunkCache(std::uint64_t max_bytes, const cache::ChunkOptions& options = {})
      : max_bytes_(max_bytes), options_(options) {}

  /// Cuts and encodes `text`, or gives what came out the last time. `path` tells the language. What another
  /// model's tokenizer gave is never mistaken for this one's.
  [[nodiscard]] std::shared_ptr<const EncodedFile> encode(const engine::Tokenizer& tokenizer,
                                                          std::string_view path, std::string_view text);

  /// How all files are cut.
  [[nodiscard]] const cache::ChunkOptions& options() const { return options_; }

  [[nodiscard]] std::uint64_t bytes() const;

 private:
  struct Entry {
    Digest key;
    std::shared_ptr<const EncodedFile> file;
    std::uint64_t bytes = 0;
  };

  void keep(Entry entry);

  const std::uint64_t max_bytes_;
  const cache::ChunkOptions options_;
  mutable std::mutex mutex_;
  std::uint64_t bytes_ = 0;
  std::list<Entry> entries_;  // the latest first
  std::unordered_map<Digest, std::list<Entry>::iterator, DigestHash> by_key_;
};

}  // namespace kvboost::daemon
