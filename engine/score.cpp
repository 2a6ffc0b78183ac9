// SPDX-License-Identifier: Apache-2.0
// Engine::score: several candidates go through the layers side by side, since a product with many rows takes
// less time than many products with few, and the vocabulary is unpacked once for all of them.
#include <algorithm>
#include <numeric>

#include "engine/model/engine_state.h"

namespace kvboost::engine {
namespace {

/// A candidate that is being read. Behind its last token nothing is asked, so that one is not read.
struct Reading {
  SequenceKv* kv = nullptr;
  std::int32_t before = 0;  // size of the sequence
  std::span<const TokenId> tokens;
  std::vector<std::int32_t> positions, cells;
  std::size_t done = 0;
  std::vector<float> scores{};

  Reading(SequenceKv& of, std::span<const TokenId> all, std::size_t first)
      : kv(&of), before(of.size()), tokens(all), positions(all.size() - 1), cells(all.size() - 1) {
    std::iota(positions.begin(), positions.end(), of.next_position());
    std::iota(cells.begin(), cells.end(), before);
    scores.resize(all.size() - first);
  }
};

class Scorer {
 public:
  Scorer(Transformer& transformer, std::size_t first, const std::stop_token& stop)
      : transformer_(transformer), first_(first), stop_(stop) {}
  ~Scorer() {
    for (Reading& reading : readings) reading.kv->truncate(reading.before);
  }
  Scorer(const Scorer&) = delete;
  Scorer& operator=(const Scorer&) = delete;

  /// False: stopped.
  bool run() {
    for (;;) {
      lanes_.clear();
      next_.clear();
      scores_.clear();
      fill_block();
      if (lanes_.empty()) return true;
      if (!transformer_.forward({.lanes = lanes_, .stop = stop_})) return false;
      for (const Transformer::Lane& lane : lanes_) lane.kv->commit(lane.tokens, lane.positions);
      std::vector<float> found(next_.size());
      if (!next_.empty() && !transformer_.log_likelihood(next_, found, stop_)) return false;
      for (std::size_t i = 0; i < found.size(); ++i) *scores_[i] = found[i];
    }
  }

  std::vector<Reading> readings;

 private:
  /// Takes as many tokens as one block holds.
  void fill_block() {
    std::size_t row = 0;
    const auto most = static_cast<std::size_t>(transformer_.most_tokens());
    for (Reading& reading : readings) {
      const std::size_t begin = reading.done;
      const std::size_t count = std::min(most - row, reading.cells.size() - begin);
      if (count == 0) continue;
      const auto part = [&](const auto& all) { return std::span(all).subspan(begin, count); };
      lanes_.push_back({reading.kv, part(reading.tokens), part(reading.positions), part(reading.cells)});
      for (std::size_t i = 0; i < count; ++i) {
        const std::size_t next = begin + i + 1;
        if (next < first_) continue;
        next_.push_back({static_cast<std::int32_t>(row + i), reading.tokens[next]});
        scores_.push_back(&reading.scores[next - first_]);
      }
      reading.done += count;
      row += count;
    }
  }

  Transformer& transformer_;
  const std::size_t first_;
  const std::stop_token& stop_;
  // Of the block at hand.
  std::vector<Transformer::Lane> lanes_;
  std::vector<Transformer::Next> next_;
  std::vector<float*> scores_;  // where what is said of `next_` goes
};

}  // namespace

Result<std::vector<std::vector<float>>> Engine::score(std::span<const Candidate> candidates,
                                                      std::size_t first, std::stop_token stop) {
  for (const Candidate& candidate : candidates) {
    if (auto good = impl_->check_call(*candidate.sequence, candidate.tokens); !good)
      return fail(good.error());
    if (first == 0 || first >= candidate.tokens.size())
      return fail(ErrorCode::kInvalidArgument, "there is nothing to score, or nothing in front of it");
  }
  return guarded([&]() -> Result<std::vector<std::vector<float>>> {
    Scorer scorer(*impl_->transformer, first, stop);
    for (const Candidate& candidate : candidates)
      scorer.readings.emplace_back(candidate.sequence->impl_->kv, candidate.tokens, first);
    if (!scorer.run()) return fail(ErrorCode::kCancelled, "cancelled");
    std::vector<std::vector<float>> scores;
    for (Reading& reading : scorer.readings) {
      if (!all_finite(reading.scores)) return fail(not_a_number());
      scores.push_back(std::move(reading.scores));
    }
    return scores;
  });
}

}  // namespace kvboost::engine
