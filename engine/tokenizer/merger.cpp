// SPDX-License-Identifier: Apache-2.0
#include "engine/tokenizer/merger.h"

#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <optional>
#include <span>

namespace kvboost::engine {
namespace {

constexpr std::size_t kShortWord = 48;
constexpr std::size_t kLongestPiece = std::size_t{1} << 22;
constexpr std::uint32_t kNoMerge = std::numeric_limits<std::uint32_t>::max();

/// For the usual word: look for the lowest rank, merge there, close the gap. Returns the new length.
std::size_t merge_short(const MergeTable& merges, std::span<TokenId> word) {
  std::array<Merge, kShortWord> with_next;  // what word[i] and word[i + 1] make
  std::size_t length = word.size();
  const auto look_up = [&](std::size_t i) {
    const Merge* merge = i + 1 < length ? merges.find(word[i], word[i + 1]) : nullptr;
    with_next[i] = merge != nullptr ? *merge : Merge{kNoMerge, 0};
  };
  for (std::size_t i = 0; i < length; ++i) look_up(i);
  while (length > 1) {
    std::size_t best = 0;
    for (std::size_t i = 1; i + 1 < length; ++i)
      if (with_next[i].rank < with_next[best].rank) best = i;
    if (with_next[best].rank == kNoMerge) break;
    word[best] = with_next[best].result;
    std::copy(word.begin() + best + 2, word.begin() + length, word.begin() + best + 1);
    std::copy(with_next.begin() + best + 2, with_next.begin() + length, with_next.begin() + best + 1);
    --length;
    look_up(best);
    if (best > 0) look_up(best - 1);
  }
  return length;
}

/// For long words: a linked list of tokens, and a heap of the merges that were possible when they were
/// pushed; one whose tokens have changed since is skipped.
class LongWord {
 public:
  LongWord(const MergeTable& merges, std::span<TokenId> word)
      : merges_(merges), word_(word), links_(word.size()) {
    const auto size = static_cast<std::uint32_t>(word.size());
    for (std::uint32_t i = 0; i < size; ++i) links_[i] = {i - 1, i + 1};
    heap_.reserve(word.size());
    for (std::uint32_t i = 0; i + 1 < size; ++i)
      if (const auto candidate = look_up(i, i + 1)) heap_.push_back(*candidate);
    std::ranges::make_heap(heap_, std::greater{}, &Candidate::order);
  }

  /// Returns the new length.
  std::size_t merge() {
    while (!heap_.empty()) {
      std::ranges::pop_heap(heap_, std::greater{}, &Candidate::order);
      const Candidate candidate = heap_.back();
      heap_.pop_back();
      apply(candidate);
    }
    const auto gone = std::ranges::remove(word_, kGone);
    return word_.size() - gone.size();
  }

 private:
  static constexpr TokenId kGone = -1;  // merged into the token before it
  struct Link {
    std::uint32_t previous;
    std::uint32_t next;
  };
  struct Candidate {
    std::uint64_t order;  // rank, then position
    TokenId left;
    TokenId right;
  };

  [[nodiscard]] std::optional<Candidate> look_up(std::uint32_t at, std::uint32_t next) const {
    const Merge* merge = merges_.find(word_[at], word_[next]);
    if (merge == nullptr) return std::nullopt;
    return Candidate{std::uint64_t{merge->rank} << 32 | at, word_[at], word_[next]};
  }
  void offer(std::uint32_t at, std::uint32_t next) {
    const auto candidate = look_up(at, next);
    if (!candidate) return;
    heap_.push_back(*candidate);
    std::ranges::push_heap(heap_, std::greater{}, &Candidate::order);
  }
  void apply(const Candidate& candidate) {
    const auto at = static_cast<std::uint32_t>(candidate.order);
    const std::uint32_t next = links_[at].next;
    if (word_[at] != candidate.left || next >= word_.size() || word_[next] != candidate.right) return;
    word_[at] = merges_.find(candidate.left, candidate.right)->result;
    word_[next] = kGone;
    const std::uint32_t after = links_[next].next;
    links_[at].next = after;
    if (after < word_.size()) {
      links_[after].previous = at;
      offer(at, after);
    }
    if (const std::uint32_t previous = links_[at].previous; previous < at) offer(previous, at);
  }

  const MergeTable& merges_;
  std::span<TokenId> word_;
  std::vector<Link> links_;
  std::vector<Candidate> heap_;
};

std::size_t merge_piece(const MergeTable& merges, std::span<TokenId> word) {
  return word.size() <= kShortWord ? merge_short(merges, word) : LongWord(merges, word).merge();
}

}  // namespace

void merge_word(const MergeTable& merges, std::vector<TokenId>& ids, std::size_t begin) {
  std::span<TokenId> rest = std::span(ids).subspan(begin);
  auto end = rest.begin();
  while (!rest.empty()) {
    const auto piece = rest.first(std::min(rest.size(), kLongestPiece));
    rest = rest.subspan(piece.size());
    end = std::copy_n(piece.begin(), merge_piece(merges, piece), end);
  }
  ids.resize(static_cast<std::size_t>(end - std::span(ids).begin()));
}

}  // namespace kvboost::engine
