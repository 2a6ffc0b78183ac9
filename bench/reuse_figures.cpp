// SPDX-License-Identifier: Apache-2.0
#include "bench/reuse_figures.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <nlohmann/json.hpp>

#include "bench/measurement.h"

namespace kvboost::bench {
namespace {

constexpr double kDoubt = 0.05;

template <typename Field>
std::vector<double> all_of(std::span<const ReuseOutcome> outcomes, Field field) {
  std::vector<double> values;
  for (const ReuseOutcome& outcome : outcomes) values.push_back(static_cast<double>(outcome.*field));
  return values;
}

double mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

/// The share of true ones among those that are known.
std::optional<double> share(std::span<const ReuseOutcome> outcomes,
                            std::optional<bool> ReuseOutcome::*field) {
  std::vector<double> known;
  for (const ReuseOutcome& outcome : outcomes) {
    if (outcome.*field) known.push_back(*(outcome.*field) ? 1 : 0);
  }
  return known.empty() ? std::nullopt : std::optional(mean(known));
}

nlohmann::ordered_json or_null(const std::optional<double>& value) {
  return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json();
}

std::string percent(const std::optional<double>& value) {
  char text[16];
  std::snprintf(text, sizeof text, "%.1f%%", 100 * value.value_or(0));
  return value ? text : "-";
}

const ReuseFigures* peer_of(std::span<const ReuseFigures> figures, const std::string& scenario) {
  const auto found = std::ranges::find_if(
      figures, [&](const ReuseFigures& f) { return f.row.tier == "peer" && f.row.scenario == scenario; });
  return found == figures.end() ? nullptr : &*found;
}

}  // namespace

std::size_t likeliest_of(const engine::LogProbabilities& of, std::span<const std::int32_t> ids) {
  const auto best = std::ranges::max_element(ids, {}, [&](std::int32_t id) { return of[id]; });
  return static_cast<std::size_t>(best - ids.begin());
}

bool is_doubtful(const engine::LogProbabilities& of) {
  engine::LogProbabilities sorted = of;
  std::ranges::nth_element(sorted, sorted.begin() + 1, std::greater());
  return std::exp(sorted[0]) - std::exp(sorted[1]) < kDoubt;
}

ReuseFigures summarise(const ReuseRow& row, std::span<const ReuseOutcome> outcomes) {
  ReuseFigures figures{.row = row, .prompts = static_cast<std::int32_t>(outcomes.size())};
  const auto ttft = all_of(outcomes, &ReuseOutcome::ttft_ms), kl = all_of(outcomes, &ReuseOutcome::kl);
  figures.tokens = mean(all_of(outcomes, &ReuseOutcome::tokens));
  figures.tokens_repaired = mean(all_of(outcomes, &ReuseOutcome::tokens_repaired));
  figures.ttft_ms_p50 = median(ttft);
  figures.ttft_ms_p95 = percentile(ttft, 0.95);
  figures.ratio_to_full = median(all_of(outcomes, &ReuseOutcome::full_ttft_ms)) / figures.ttft_ms_p50;
  figures.kl_mean = mean(kl);
  figures.kl_p95 = percentile(kl, 0.95);
  figures.top1_agreement = mean(all_of(outcomes, &ReuseOutcome::top1));
  figures.choices = static_cast<std::int32_t>(
      std::ranges::count_if(outcomes, [](const ReuseOutcome& o) { return o.choice.has_value(); }));
  figures.choice_agreement = share(outcomes, &ReuseOutcome::choice);
  figures.greedy32_equal = share(outcomes, &ReuseOutcome::greedy_equal);
  figures.doubtful = mean(all_of(outcomes, &ReuseOutcome::doubtful));
  return figures;
}

void print_reuse_table(std::ostream& out, std::span<const ReuseFigures> figures) {
  char line[256];
  std::snprintf(line, sizeof line, "%-9s %-26s %-5s %-5s %7s %6s %8s %8s %7s %8s %8s %7s %7s %8s %7s\n",
                "scenario", "policy", "codec", "tier", "prompts", "comp.", "TTFT p50", "p95", "ratio",
                "KL mean", "KL p95", "top-1", "choice", "32 equal", "doubt");
  out << line;
  for (const ReuseFigures& f : figures) {
    std::snprintf(line, sizeof line,
                  "%-9s %-26s %-5s %-5s %7d %6.0f %8.1f %8.1f %7.2f %8.5f %8.5f %7s %7s %8s %7s\n",
                  f.row.scenario.c_str(), f.row.policy.c_str(), f.row.codec.c_str(), f.row.tier.c_str(),
                  f.prompts, f.tokens_repaired, f.ttft_ms_p50, f.ttft_ms_p95, f.ratio_to_full, f.kl_mean,
                  f.kl_p95, percent(f.top1_agreement).c_str(), percent(f.choice_agreement).c_str(),
                  percent(f.greedy32_equal).c_str(), percent(f.doubtful).c_str());
    out << line;
  }
}

void print_reuse_against_peer(std::ostream& out, std::span<const ReuseFigures> figures) {
  char line[256];
  bool first = true;
  for (const ReuseFigures& f : figures) {
    const ReuseFigures* peer = f.row.tier == "peer" ? nullptr : peer_of(figures, f.row.scenario);
    if (peer == nullptr || (f.row.tier == "full" && f.row.scenario != "cold")) continue;
    if (std::exchange(first, false)) {
      std::snprintf(line, sizeof line, "\n%-9s %-26s %-5s %9s %9s %11s %9s %9s\n", "scenario", "policy",
                    "tier", "peer, ms", "this, ms", "peer : this", "peer KL", "this KL");
      out << line;
    }
    std::snprintf(line, sizeof line, "%-9s %-26s %-5s %9.1f %9.1f %11.2f %9.5f %9.5f\n",
                  f.row.scenario.c_str(), f.row.policy.c_str(), f.row.tier.c_str(), peer->ttft_ms_p50,
                  f.ttft_ms_p50, peer->ttft_ms_p50 / f.ttft_ms_p50, peer->kl_mean, f.kl_mean);
    out << line;
  }
}

void print_reuse_json(std::ostream& out, const ReuseFigures& f) {
  const nlohmann::ordered_json json = {{"scenario", f.row.scenario},
                                       {"policy", f.row.policy},
                                       {"codec", f.row.codec},
                                       {"tier", f.row.tier},
                                       {"prompts", f.prompts},
                                       {"tokens", f.tokens},
                                       {"tokens_repaired", f.tokens_repaired},
                                       {"ttft_ms_p50", f.ttft_ms_p50},
                                       {"ttft_ms_p95", f.ttft_ms_p95},
                                       {"ratio_to_full", f.ratio_to_full},
                                       {"kl_mean", f.kl_mean},
                                       {"kl_p95", f.kl_p95},
                                       {"top1_agreement", f.top1_agreement},
                                       {"choice_agreement", or_null(f.choice_agreement)},
                                       {"greedy32_equal", or_null(f.greedy32_equal)}};
  out << json.dump() << '\n' << std::flush;
}

void print_outcome_json(std::ostream& out, const ReuseRow& row, const ReuseOutcome& o) {
  nlohmann::ordered_json json = {{"prompt", o.prompt},
                                 {"scenario", row.scenario},
                                 {"policy", row.policy},
                                 {"codec", row.codec},
                                 {"tier", row.tier},
                                 {"tokens", o.tokens},
                                 {"tokens_reused", o.tokens_reused},
                                 {"tokens_repaired", o.tokens_repaired},
                                 {"ttft_ms", o.ttft_ms},
                                 {"full_ttft_ms", o.full_ttft_ms},
                                 {"load_ms", o.load_ms},
                                 {"select_ms", o.select_ms},
                                 {"prefill_ms", o.prefill_ms},
                                 {"kl", o.kl},
                                 {"top1", o.top1},
                                 {"doubtful", o.doubtful}};
  if (o.choice) json["choice"] = *o.choice;
  if (o.right) json["right"] = *o.right;
  if (o.greedy_equal) json["greedy_equal"] = *o.greedy_equal;
  out << json.dump() << '\n' << std::flush;
}

}  // namespace kvboost::bench
