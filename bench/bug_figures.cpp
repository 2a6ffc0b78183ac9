// SPDX-License-Identifier: Apache-2.0
#include "bench/bug_figures.h"

#include <algorithm>
#include <array>
#include <functional>
#include <iomanip>
#include <nlohmann/json.hpp>
#include <numeric>
#include <random>

#include "base/digest.h"
#include "base/text.h"
#include "bench/measurement.h"
#include "cache/rank/fusion.h"

namespace kvboost::bench {
namespace {

using nlohmann::json;

constexpr std::size_t kFolds = 5;
constexpr std::size_t kSamples = 2'000;
constexpr std::array kWeights = {0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 3.0};

/// How one ranker did on one report.
struct Quality {
  double top1 = 0, top5 = 0, reciprocal = 0, precision = 0;
};

/// `ranks` of the changed files that were found, from 1 on.
Quality quality_of(std::vector<std::size_t> ranks, std::size_t n_changed) {
  Quality quality;
  std::erase(ranks, 0);
  std::ranges::sort(ranks);
  if (ranks.empty()) return quality;
  quality.top1 = ranks.front() == 1 ? 1 : 0;
  quality.top5 = ranks.front() <= 5 ? 1 : 0;
  quality.reciprocal = 1.0 / static_cast<double>(ranks.front());
  for (std::size_t i = 0; i < ranks.size(); ++i)
    quality.precision += static_cast<double>(i + 1) / static_cast<double>(ranks[i]);
  quality.precision /= static_cast<double>(std::max(n_changed, ranks.size()));
  return quality;
}

/// By a sum of rankers. What only words looked at comes behind what all did.
Quality quality_by(const BugRanking& ranking, const std::vector<std::pair<std::string, double>>& weights) {
  std::vector<cache::ScoreColumn> columns;
  for (const auto& [ranker, weight] : weights)
    columns.push_back(cache::column_of(ranking.files, ranker, weight));
  const std::vector<double> scores = cache::fuse(columns);
  std::vector<std::size_t> order(scores.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, std::greater(), [&](std::size_t i) { return scores[i]; });
  std::vector<std::size_t> ranks;
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (ranking.files[order[i]].changed) ranks.push_back(i + 1);
  }
  return quality_of(ranks, ranking.n_changed);
}

Quality fused_quality(const BugRanking& ranking, double weight) {
  return quality_by(ranking, {{"words", 1.0}, {"model", weight}});
}

/// In which part of the cross-validation a report is held back: by its id alone.
std::size_t fold_of(const BugRanking& ranking) {
  return static_cast<std::size_t>(sha256(ranking.id).bytes[0]) % kFolds;
}

template <class Keep>
double best_weight(std::span<const BugRanking> rankings, const Keep& keep) {
  double best = 0, best_sum = -1;
  for (const double weight : kWeights) {
    double sum = 0;
    for (const BugRanking& ranking : rankings) {
      if (keep(ranking)) sum += fused_quality(ranking, weight).reciprocal;
    }
    if (sum > best_sum + 1e-9) {
      best_sum = sum;
      best = weight;
    }
  }
  return best;
}

/// Of each report, with the weight that the other folds gave.
std::vector<Quality> fused_qualities(std::span<const BugRanking> rankings) {
  std::array<double, kFolds> weights{};
  for (std::size_t fold = 0; fold < kFolds; ++fold) {
    weights[fold] =
        best_weight(rankings, [&](const BugRanking& ranking) { return fold_of(ranking) != fold; });
  }
  std::vector<Quality> all;
  for (const BugRanking& ranking : rankings) all.push_back(fused_quality(ranking, weights[fold_of(ranking)]));
  return all;
}

struct Group {
  std::string name;
  std::function<bool(const BugRanking&)> holds;
};

std::vector<Group> groups_of(std::span<const BugRanking> rankings) {
  std::vector<Group> groups = {{"all", [](const BugRanking&) { return true; }}};
  for (const char* kind : {"issue", "commit-message"})
    groups.push_back({kind, [kind](const BugRanking& ranking) { return ranking.kind == kind; }});
  groups.push_back({"named", [](const BugRanking& ranking) { return ranking.names_file; }});
  groups.push_back({"unnamed", [](const BugRanking& ranking) { return !ranking.names_file; }});
  std::erase_if(groups, [&](const Group& group) { return std::ranges::none_of(rankings, group.holds); });
  return groups;
}

Estimate estimate(const std::vector<Quality>& all, double Quality::*field, std::uint64_t seed) {
  std::vector<double> values;
  for (const Quality& quality : all) values.push_back(quality.*field);
  return bootstrap_mean(values, seed);
}

double median_seconds(std::span<const BugRanking> rankings, const Group& group, double BugRanking::*ms) {
  std::vector<double> values;
  for (const BugRanking& ranking : rankings) {
    if (group.holds(ranking) && ranking.*ms > 0) values.push_back(ranking.*ms / 1000);
  }
  return values.empty() ? 0 : median(values);
}

/// The figures of one ranker on one group, whose qualities stand in the rankings' order.
RankFigures figures_of(std::span<const BugRanking> rankings, const Group& group, const std::string& ranker,
                       const std::vector<Quality>& all, std::uint64_t seed) {
  std::vector<Quality> kept;
  for (std::size_t i = 0; i < rankings.size(); ++i) {
    if (group.holds(rankings[i])) kept.push_back(all[i]);
  }
  RankFigures figures;
  figures.reports = group.name;
  figures.ranker = ranker;
  figures.cases = static_cast<std::int32_t>(kept.size());
  figures.top1 = estimate(kept, &Quality::top1, seed);
  figures.top5 = estimate(kept, &Quality::top5, seed);
  figures.mrr = estimate(kept, &Quality::reciprocal, seed);
  figures.map = estimate(kept, &Quality::precision, seed);
  if (ranker == "words") {
    figures.seconds_cold = figures.seconds_warm = median_seconds(rankings, group, &BugRanking::words_ms);
  } else if (ranker != "bm25") {
    figures.seconds_cold = median_seconds(rankings, group, &BugRanking::cold_ms);
    figures.seconds_warm = median_seconds(rankings, group, &BugRanking::warm_ms);
    figures.seconds_text = median_seconds(rankings, group, &BugRanking::text_ms);
  }
  return figures;
}

}  // namespace

std::string to_text(const Estimate& estimate) {
  return formatted("%.3f (%.3f-%.3f)", estimate.mean, estimate.low, estimate.high);
}

Estimate bootstrap_mean(std::span<const double> values, std::uint64_t seed) {
  const auto n = static_cast<double>(values.size());
  std::mt19937_64 random(seed);
  std::vector<double> means;
  for (std::size_t sample = 0; sample < kSamples; ++sample) {
    double sum = 0;
    // Not uniform_int_distribution: what it gives is each library's own affair.
    for (std::size_t i = 0; i < values.size(); ++i) sum += values[random() % values.size()];
    means.push_back(sum / n);
  }
  std::ranges::sort(means);
  return {std::accumulate(values.begin(), values.end(), 0.0) / n, means[kSamples / 40],
          means[kSamples - 1 - kSamples / 40]};
}

std::vector<RankFigures> rank_figures(std::span<const BugRanking> rankings, std::uint64_t seed) {
  std::map<std::string, std::vector<Quality>> by_ranker;
  const bool with_model = std::ranges::any_of(rankings, [](const BugRanking& ranking) {
    return !ranking.files.empty() && ranking.files.front().scores.contains("model");
  });
  for (const BugRanking& ranking : rankings) {
    by_ranker["bm25"].push_back(quality_of(ranking.plain_ranks, ranking.n_changed));
    by_ranker["words"].push_back(quality_by(ranking, {{"words", 1.0}}));
    // Files that the model did not read stand behind those it did, in the order of the words.
    if (with_model) by_ranker["model"].push_back(quality_by(ranking, {{"words", 1e-6}, {"model", 1.0}}));
  }
  if (with_model) by_ranker["fused"] = fused_qualities(rankings);
  std::vector<RankFigures> figures;
  for (const Group& group : groups_of(rankings)) {
    for (const char* ranker : {"bm25", "words", "model", "fused"}) {
      if (by_ranker.contains(ranker))
        figures.push_back(figures_of(rankings, group, ranker, by_ranker[ranker], seed));
    }
  }
  return figures;
}

double fit_weight(std::span<const BugRanking> rankings) {
  return best_weight(rankings, [](const BugRanking&) { return true; });
}

Estimate fused_gain(std::span<const BugRanking> rankings, std::uint64_t seed) {
  const std::vector<Quality> fused = fused_qualities(rankings);
  std::vector<double> gains;
  for (std::size_t i = 0; i < rankings.size(); ++i)
    gains.push_back(fused[i].reciprocal - quality_by(rankings[i], {{"words", 1.0}}).reciprocal);
  return bootstrap_mean(gains, seed);
}

void print_rank_table(std::ostream& out, std::span<const RankFigures> figures) {
  out << std::left << std::setw(16) << "reports" << std::setw(8) << "ranker" << std::right << std::setw(6)
      << "n" << std::setw(21) << "MRR" << std::setw(21) << "top-1" << std::setw(21) << "top-5"
      << std::setw(21) << "MAP" << std::setw(10) << "cold s" << std::setw(10) << "warm s" << std::setw(10)
      << "text s" << '\n';
  for (const RankFigures& f : figures) {
    out << std::left << std::setw(16) << f.reports << std::setw(8) << f.ranker << std::right << std::setw(6)
        << f.cases << std::setw(21) << to_text(f.mrr) << std::setw(21) << to_text(f.top1) << std::setw(21)
        << to_text(f.top5) << std::setw(21) << to_text(f.map) << std::fixed << std::setprecision(3)
        << std::setw(10) << f.seconds_cold << std::setw(10) << f.seconds_warm << std::setw(10)
        << f.seconds_text << '\n';
  }
}

void print_rank_json(std::ostream& out, const RankFigures& f) {
  nlohmann::ordered_json row = {
      {"task", "rank"}, {"reports", f.reports}, {"ranker", f.ranker}, {"cases", f.cases}};
  const auto add = [&](const std::string& name, const Estimate& e) {
    row[name] = e.mean;
    row[name + "_lo"] = e.low;
    row[name + "_hi"] = e.high;
  };
  add("top1", f.top1);
  add("top5", f.top5);
  add("mrr", f.mrr);
  add("map", f.map);
  row["seconds_cold"] = f.seconds_cold;
  row["seconds_warm"] = f.seconds_warm;
  row["seconds_text"] = f.seconds_text;
  out << row.dump() << '\n';
}

std::string to_line(const BugRanking& ranking) {
  json files = json::array();
  for (const RankedBugFile& file : ranking.files) {
    json scores = json::object();
    for (const auto& [ranker, score] : file.scores) scores[ranker] = score;
    files.push_back({{"scores", std::move(scores)}, {"changed", file.changed}});
  }
  const json row = {{"id", ranking.id},
                    {"kind", ranking.kind},
                    {"names_file", ranking.names_file},
                    {"n_changed", ranking.n_changed},
                    {"files", std::move(files)},
                    {"plain_ranks", ranking.plain_ranks},
                    {"words_ms", ranking.words_ms},
                    {"cold_ms", ranking.cold_ms},
                    {"warm_ms", ranking.warm_ms},
                    {"text_ms", ranking.text_ms}};
  return row.dump(-1, ' ', false, json::error_handler_t::replace);
}

Result<BugRanking> parse_ranking(std::string_view line) {
  try {
    const json row = json::parse(line);
    BugRanking ranking;
    row.at("id").get_to(ranking.id);
    row.at("kind").get_to(ranking.kind);
    row.at("names_file").get_to(ranking.names_file);
    row.at("n_changed").get_to(ranking.n_changed);
    row.at("plain_ranks").get_to(ranking.plain_ranks);
    row.at("words_ms").get_to(ranking.words_ms);
    row.at("cold_ms").get_to(ranking.cold_ms);
    row.at("warm_ms").get_to(ranking.warm_ms);
    row.at("text_ms").get_to(ranking.text_ms);
    for (const json& entry : row.at("files")) {
      RankedBugFile& file = ranking.files.emplace_back();
      entry.at("changed").get_to(file.changed);
      for (const auto& [ranker, score] : entry.at("scores").items())
        file.scores[ranker] = score.get<double>();
    }
    return ranking;
  } catch (const json::exception& error) {
    return fail(ErrorCode::kProtocol, std::string("not a ranked report: ") + error.what());
  }
}

}  // namespace kvboost::bench
