// SPDX-License-Identifier: Apache-2.0
// Bm25Index: BM25 (Robertson and Zaragoza 2009; k1 1.2, b 0.75) over documents that come and go. Words are
// identifiers whole and split at case and underscore, lower-cased; a document's path words count too, with
// a weight. One thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace kvboost::cache {

using DocumentId = std::uint32_t;

struct Bm25Options {
  double k1 = 1.2;
  double b = 0.75;
  double path_weight = 3.0;  // a path word counts as so many content words
};

/// A piece of a query, each word of which counts as so many.
struct QueryPart {
  std::string text;
  double weight = 1;
};

struct ScoredDocument {
  DocumentId id = 0;
  double score = 0;
};

class Bm25Index {
 public:
  explicit Bm25Index(Bm25Options options = {});
  Bm25Index(Bm25Index&&) noexcept;
  Bm25Index& operator=(Bm25Index&&) noexcept;
  ~Bm25Index();

  /// The id is the caller's; adding one that is there replaces it.
  void add(DocumentId id, std::string_view path, std::string_view content);
  void remove(DocumentId id);
  [[nodiscard]] std::size_t size() const;

  /// Best first, at most `limit`, only documents with a score above 0; equal scores by id.
  [[nodiscard]] std::vector<ScoredDocument> query(std::span<const QueryPart> parts, std::size_t limit) const;
  [[nodiscard]] std::vector<ScoredDocument> query(std::string_view text, std::size_t limit) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// The words of a text as the index sees them: "parseHTTPRequest" → parsehttprequest, parse, http, request.
[[nodiscard]] std::vector<std::string> words(std::string_view text);

}  // namespace kvboost::cache
