// SPDX-License-Identifier: Apache-2.0
// Figures of the bug bench: how good rankings are, with bootstrap intervals, and the ranker's weight by
// cross-validation. Plain values and pure functions, any thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace kvboost::bench {

/// A file as the rankers saw it.
struct RankedBugFile {
  std::map<std::string, double, std::less<>> scores;  // by ranker
  bool changed = false;                               // by the fix
};

/// One report that was ranked.
struct BugRanking {
  std::string id;
  std::string kind;
  bool names_file = false;
  std::size_t n_changed = 0;               // files that the fix changed, found or not
  std::vector<RankedBugFile> files{};      // those found, best first by words
  std::vector<std::size_t> plain_ranks{};  // of the changed files by BM25 over whole files; 0: not found
  double words_ms = 0;
  double cold_ms = 0;  // of the model's reading, blocks to be computed
  double warm_ms = 0;  // the same again; 0: not tried
  double text_ms = 0;  // the same without stored blocks, from the files' text; 0: not tried
};

[[nodiscard]] std::string to_line(const BugRanking& ranking);
[[nodiscard]] Result<BugRanking> parse_ranking(std::string_view line);

struct Estimate {
  double mean = 0;
  double low = 0;  // 95 % of bootstrap samples lie between
  double high = 0;
};
/// "0.699 (0.632-0.765)".
[[nodiscard]] std::string to_text(const Estimate& estimate);
/// Mean of `values`, which is not empty; the same seed gives the same interval.
[[nodiscard]] Estimate bootstrap_mean(std::span<const double> values, std::uint64_t seed);

struct RankFigures {
  std::string reports;  // "all", a kind, "named", "unnamed"
  std::string ranker;   // "bm25", "words", "model", "fused"
  std::int32_t cases = 0;
  Estimate top1, top5, mrr, map;
  double seconds_cold = 0;  // medians a report, 0: not measured
  double seconds_warm = 0;
  double seconds_text = 0;
};

/// Every ranker on every group of reports. The fused ranking of a report uses the weight of the model that
/// was best for the others' folds.
[[nodiscard]] std::vector<RankFigures> rank_figures(std::span<const BugRanking> rankings, std::uint64_t seed);

/// The weight of the model beside words of weight 1 with the best mean reciprocal rank.
[[nodiscard]] double fit_weight(std::span<const BugRanking> rankings);

/// Of the difference in reciprocal rank, fused minus words.
[[nodiscard]] Estimate fused_gain(std::span<const BugRanking> rankings, std::uint64_t seed);

void print_rank_table(std::ostream& out, std::span<const RankFigures> figures);
void print_rank_json(std::ostream& out, const RankFigures& figures);

/// Mean reciprocal ranks with their intervals, as an SVG.
[[nodiscard]] std::string rank_picture(std::span<const RankFigures> figures);

}  // namespace kvboost::bench
