// SPDX-License-Identifier: Apache-2.0
// An inverted index. Each document has a slot, given out in rising order and never reused, so that a term's
// postings only ever grow at their end:
//   postings := { posting }
//   posting  := varint(slot - slot of the posting before) varint(2 * n_content + (n_path > 0))
//   [varint(n_path)]
// A removed document leaves a dead slot behind; when too many are dead, the index is rewritten without them.
// Scores do not depend on the order of adds and removes: dead slots are left out of all counts, and a
// document's terms are summed up in the query's order.
#include "cache/rank/bm25.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <utility>

#include "cache/rank/words.h"

namespace kvboost::cache {
namespace {

// How fast a word that stands in the query again and again stops counting more (Robertson's k3).
constexpr double kQuerySaturation = 8.0;
constexpr std::uint32_t kNoTerm = 0xFFFFFFFF;

using Slot = std::uint32_t;

void put_varint(std::string& out, std::uint32_t value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}

inline std::uint32_t get_varint(const unsigned char*& at) {
  std::uint32_t value = *at++;
  if (value < 0x80) return value;
  value &= 0x7F;
  for (unsigned shift = 7;; shift += 7) {
    const std::uint32_t byte = *at++;
    value |= (byte & 0x7F) << shift;
    if (byte < 0x80) return value;
  }
}

struct Term {
  std::uint32_t text_at = 0;
  std::uint32_t text_size = 0;
  Slot last_slot = 0;
  std::uint32_t documents = 0;  // postings, dead ones included
  std::string postings;
};

struct Document {
  DocumentId id = 0;
  bool alive = false;
  float length = 0;  // words, path words weighted
};

// Term texts in one string, found by open addressing.
class TermTable {
 public:
  [[nodiscard]] std::uint32_t find(std::string_view text) const {
    return buckets_.empty() ? kNoTerm : buckets_[bucket_of(text, hash_of(text))].term;
  }

  std::uint32_t find_or_add(std::string_view text) {
    if (terms.size() * 2 >= buckets_.size()) grow();
    const std::size_t hash = hash_of(text);
    Bucket& bucket = buckets_[bucket_of(text, hash)];
    if (bucket.term == kNoTerm) {
      bucket = {static_cast<std::uint32_t>(terms.size()), mark_of(hash)};
      terms.push_back(
          {static_cast<std::uint32_t>(texts_.size()), static_cast<std::uint32_t>(text.size()), 0, 0, {}});
      texts_ += text;
    }
    return bucket.term;
  }

  [[nodiscard]] std::string_view text(const Term& term) const {
    return std::string_view(texts_).substr(term.text_at, term.text_size);
  }

  std::vector<Term> terms;

 private:
  struct Bucket {
    std::uint32_t term = kNoTerm;
    std::uint32_t mark = 0;  // other bits of the hash: most unequal words are told apart without their texts
  };

  static std::size_t hash_of(std::string_view word) { return std::hash<std::string_view>{}(word); }
  static std::uint32_t mark_of(std::size_t hash) { return static_cast<std::uint32_t>(hash >> 32); }

  [[nodiscard]] std::size_t bucket_of(std::string_view word, std::size_t hash) const {
    const std::size_t mask = buckets_.size() - 1;
    std::size_t at = hash & mask;
    while (buckets_[at].term != kNoTerm &&
           (buckets_[at].mark != mark_of(hash) || text(terms[buckets_[at].term]) != word)) {
      at = (at + 1) & mask;
    }
    return at;
  }

  void grow() {
    buckets_.assign(std::max<std::size_t>(1024, buckets_.size() * 2), Bucket{});
    for (std::uint32_t i = 0; i < terms.size(); ++i) {
      const std::size_t hash = hash_of(text(terms[i]));
      buckets_[bucket_of(text(terms[i]), hash)] = {i, mark_of(hash)};
    }
  }

  std::string texts_;
  std::vector<Bucket> buckets_;
};

// One term's postings, front to back.
template <class Visit>
void for_each_posting(const Term& term, const Visit& visit) {
  const auto* at = reinterpret_cast<const unsigned char*>(term.postings.data());
  const auto* end = at + term.postings.size();
  Slot slot = 0;
  while (at < end) {
    slot += get_varint(at);
    const std::uint32_t content = get_varint(at);
    const std::uint32_t path = (content & 1) != 0 ? get_varint(at) : 0;
    visit(slot, content >> 1, path);
  }
}

void append_posting(Term& term, Slot slot, std::uint32_t content, std::uint32_t path) {
  put_varint(term.postings, slot - term.last_slot);
  put_varint(term.postings, (content << 1) | (path > 0 ? 1U : 0U));
  if (path > 0) put_varint(term.postings, path);
  term.last_slot = slot;
  ++term.documents;
}

}  // namespace

struct Bm25Index::Impl {
  struct Count {
    std::uint32_t content = 0;
    std::uint32_t path = 0;
  };

  Bm25Options options;
  TermTable table;
  std::vector<Document> documents;  // by slot
  std::unordered_map<DocumentId, Slot> slots;
  double total_length = 0;  // of the living
  WordReader reader;
  std::vector<Count> counts;           // by term; zero between calls
  std::vector<std::uint32_t> touched;  // terms of the document being added

  void count(std::string_view text, std::uint32_t Count::*field) {
    reader.read(text, [&](std::string_view word) {
      const std::uint32_t term = table.find_or_add(word);
      if (term >= counts.size()) counts.resize(table.terms.size() + table.terms.size() / 2);
      Count& count = counts[term];
      if (count.content + count.path == 0) touched.push_back(term);
      ++(count.*field);
    });
  }

  void add(DocumentId id, std::string_view path, std::string_view content) {
    remove(id);
    const auto slot = static_cast<Slot>(documents.size());
    count(content, &Count::content);
    count(path, &Count::path);
    double length = 0;
    for (const std::uint32_t term : touched) {
      const Count found = std::exchange(counts[term], Count{});
      append_posting(table.terms[term], slot, found.content, found.path);
      length += found.content + options.path_weight * found.path;
    }
    touched.clear();
    documents.push_back({id, true, static_cast<float>(length)});
    total_length += documents.back().length;
    slots[id] = slot;
  }

  void remove(DocumentId id) {
    const auto found = slots.find(id);
    if (found == slots.end()) return;
    Document& document = documents[found->second];
    document.alive = false;
    total_length -= document.length;
    slots.erase(found);
    if (documents.size() > 64 && slots.size() < documents.size() - documents.size() / 4) sweep();
  }

  // Rewrites the index without its dead documents, and without terms that only they had.
  void sweep() {
    std::vector<Slot> moved(documents.size());
    std::vector<Document> living;
    living.reserve(slots.size());
    total_length = 0;
    for (Slot slot = 0; slot < documents.size(); ++slot) {
      if (!documents[slot].alive) continue;
      moved[slot] = static_cast<Slot>(living.size());
      slots[documents[slot].id] = moved[slot];
      total_length += documents[slot].length;
      living.push_back(documents[slot]);
    }
    TermTable rewritten;
    for (Term& old : table.terms) {
      Term term;
      for_each_posting(old, [&](Slot slot, std::uint32_t content, std::uint32_t path) {
        if (documents[slot].alive) append_posting(term, moved[slot], content, path);
      });
      if (term.documents > 0) {
        Term& kept = rewritten.terms[rewritten.find_or_add(table.text(old))];
        kept.last_slot = term.last_slot;
        kept.documents = term.documents;
        kept.postings = std::move(term.postings);
      }
      old.postings = {};
    }
    table = std::move(rewritten);
    documents = std::move(living);
    counts.assign(table.terms.size(), Count{});
  }

  [[nodiscard]] std::uint32_t living(const Term& term) const {
    if (slots.size() == documents.size()) return term.documents;
    std::uint32_t n = 0;
    for_each_posting(term,
                     [&](Slot slot, std::uint32_t, std::uint32_t) { n += documents[slot].alive ? 1 : 0; });
    return n;
  }

  void score_term(const Term& term, double query_count, double average_length,
                  std::vector<double>& scores) const {
    const double n = living(term);
    if (n == 0) return;
    const double rarity = std::log(1 + (static_cast<double>(slots.size()) - n + 0.5) / (n + 0.5));
    const double weight =
        rarity * (options.k1 + 1) * query_count * (kQuerySaturation + 1) / (query_count + kQuerySaturation);
    const double base = options.k1 * (1 - options.b);
    const double per_word = options.k1 * options.b / average_length;
    for_each_posting(term, [&](Slot slot, std::uint32_t content, std::uint32_t path) {
      const double frequency = content + options.path_weight * path;
      scores[slot] += weight * frequency / (frequency + base + per_word * documents[slot].length);
    });
  }

  [[nodiscard]] std::vector<ScoredDocument> best(const std::vector<double>& scores, std::size_t limit) const {
    std::vector<ScoredDocument> found;
    for (Slot slot = 0; slot < documents.size(); ++slot) {
      if (scores[slot] > 0 && documents[slot].alive) found.push_back({documents[slot].id, scores[slot]});
    }
    const auto better = [](const ScoredDocument& a, const ScoredDocument& b) {
      return a.score != b.score ? a.score > b.score : a.id < b.id;
    };
    const auto end = found.begin() + static_cast<std::ptrdiff_t>(std::min(limit, found.size()));
    std::ranges::partial_sort(found, end, better);
    found.erase(end, found.end());
    return found;
  }
};

Bm25Index::Bm25Index(Bm25Options options) : impl_(std::make_unique<Impl>()) {
  impl_->options = options;
}
Bm25Index::Bm25Index(Bm25Index&&) noexcept = default;
Bm25Index& Bm25Index::operator=(Bm25Index&&) noexcept = default;
Bm25Index::~Bm25Index() = default;

void Bm25Index::add(DocumentId id, std::string_view path, std::string_view content) {
  impl_->add(id, path, content);
}

void Bm25Index::remove(DocumentId id) {
  impl_->remove(id);
}

std::size_t Bm25Index::size() const {
  return impl_->slots.size();
}

std::vector<ScoredDocument> Bm25Index::query(std::string_view text, std::size_t limit) const {
  return query(std::vector<QueryPart>{{std::string(text)}}, limit);
}

std::vector<ScoredDocument> Bm25Index::query(std::span<const QueryPart> parts, std::size_t limit) const {
  if (limit == 0 || impl_->slots.empty()) return {};
  std::vector<std::uint32_t> order;  // terms as they first come up in the query
  std::unordered_map<std::uint32_t, double> query_counts;
  for (const QueryPart& part : parts) {
    impl_->reader.read(part.text, [&](std::string_view word) {
      const std::uint32_t term = impl_->table.find(word);
      if (term == kNoTerm) return;
      const auto [count, added] = query_counts.try_emplace(term);
      count->second += part.weight;
      if (added) order.push_back(term);
    });
  }
  const double average_length = std::max(1.0, impl_->total_length / static_cast<double>(impl_->slots.size()));
  std::vector<double> scores(impl_->documents.size());
  for (const std::uint32_t term : order) {
    impl_->score_term(impl_->table.terms[term], query_counts[term], average_length, scores);
  }
  return impl_->best(scores, limit);
}

}  // namespace kvboost::cache
