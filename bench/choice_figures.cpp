// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <iomanip>
#include <map>
#include <nlohmann/json.hpp>

#include "bench/bug_choice.h"
#include "bench/measurement.h"

namespace kvboost::bench {
namespace {

using nlohmann::json;

double p95(std::vector<double> values) {
  std::ranges::sort(values);
  return values[std::min(values.size() - 1, values.size() * 95 / 100)];
}

using ByPolicy = std::map<std::string, std::vector<const BugChoice*>>;

ChoiceFigures figures_of(const std::string& policy, const ByPolicy& all, std::uint64_t seed) {
  ChoiceFigures figures;
  figures.policy = policy;
  std::map<std::string, bool> full_right;
  for (const BugChoice* choice : all.at("full")) full_right[choice->id] = choice->right;
  std::vector<double> right, agrees, ttft, cold, full_ttft;
  std::int32_t gained = 0, lost = 0;
  for (const BugChoice* choice : all.at(policy)) {
    right.push_back(choice->right ? 1 : 0);
    agrees.push_back(choice->agrees ? 1 : 0);
    ttft.push_back(choice->ttft_ms);
    cold.push_back(choice->cold_ms);
    if (choice->right != full_right[choice->id]) ++(choice->right ? gained : lost);
  }
  for (const BugChoice* choice : all.at("full")) full_ttft.push_back(choice->ttft_ms);
  figures.cases = static_cast<std::int32_t>(right.size());
  figures.accuracy = bootstrap_mean(right, seed);
  figures.agreement = bootstrap_mean(agrees, seed);
  figures.mcnemar_p = mcnemar(gained, lost);
  figures.ttft_ms_p50 = median(ttft);
  figures.ttft_ms_p95 = p95(ttft);
  figures.cold_ms_p50 = median(cold);
  figures.ratio_to_full = median(full_ttft) / figures.ttft_ms_p50;
  return figures;
}

}  // namespace

double mcnemar(std::int32_t one, std::int32_t other) {
  const std::int32_t n = one + other;
  const std::int32_t fewer = std::min(one, other);
  double p = 0;
  for (std::int32_t k = 0; k <= fewer; ++k)
    p += std::exp(std::lgamma(n + 1.0) - std::lgamma(k + 1.0) - std::lgamma(n - k + 1.0) - n * std::log(2.0));
  return std::min(1.0, 2 * p);
}

std::vector<ChoiceFigures> choice_figures(std::span<const BugChoice> choices, std::uint64_t seed) {
  ByPolicy all;
  std::vector<std::string> policies = {"full"};
  for (const BugChoice& choice : choices) {
    all[choice.policy].push_back(&choice);
    if (std::ranges::find(policies, choice.policy) == policies.end()) policies.push_back(choice.policy);
  }
  std::vector<ChoiceFigures> figures;
  if (!all.contains("full")) return figures;
  for (const std::string& policy : policies) figures.push_back(figures_of(policy, all, seed));
  return figures;
}

void print_choice_table(std::ostream& out, std::span<const ChoiceFigures> figures) {
  out << std::left << std::setw(24) << "policy" << std::right << std::setw(6) << "n" << std::setw(24)
      << "accuracy" << std::setw(12) << "agreement" << std::setw(11) << "McNemar p" << std::setw(12)
      << "TTFT p50" << std::setw(12) << "p95 ms" << std::setw(10) << "ratio" << '\n';
  for (const ChoiceFigures& f : figures) {
    out << std::left << std::setw(24) << f.policy << std::right << std::setw(6) << f.cases << std::setw(24)
        << to_text(f.accuracy) << std::fixed << std::setprecision(3) << std::setw(12) << f.agreement.mean
        << std::setw(11) << f.mcnemar_p << std::setprecision(0) << std::setw(12) << f.ttft_ms_p50
        << std::setw(12) << f.ttft_ms_p95 << std::setprecision(1) << std::setw(9) << f.ratio_to_full << "x\n";
  }
}

void print_choice_json(std::ostream& out, const ChoiceFigures& f) {
  const nlohmann::ordered_json row = {{"task", "choice"},
                                      {"policy", f.policy},
                                      {"cases", f.cases},
                                      {"accuracy", f.accuracy.mean},
                                      {"accuracy_lo", f.accuracy.low},
                                      {"accuracy_hi", f.accuracy.high},
                                      {"agreement", f.agreement.mean},
                                      {"agreement_lo", f.agreement.low},
                                      {"agreement_hi", f.agreement.high},
                                      {"mcnemar_p", f.mcnemar_p},
                                      {"ttft_ms_p50", f.ttft_ms_p50},
                                      {"ttft_ms_p95", f.ttft_ms_p95},
                                      {"cold_ms_p50", f.cold_ms_p50},
                                      {"ratio_to_full", f.ratio_to_full}};
  out << row.dump() << '\n';
}

std::string to_line(const std::vector<BugChoice>& choices) {
  json list = json::array();
  for (const BugChoice& c : choices)
    list.push_back({c.id, c.policy, c.tokens, c.right, c.agrees, c.ttft_ms, c.cold_ms});
  return list.dump(-1, ' ', false, json::error_handler_t::replace);
}

Result<std::vector<BugChoice>> parse_choices(std::string_view line) {
  try {
    std::vector<BugChoice> choices;
    for (const json& c : json::parse(line)) {
      choices.push_back({c.at(0), c.at(1), c.at(2), c.at(3), c.at(4), c.at(5), c.at(6)});
    }
    return choices;
  } catch (const json::exception& error) {
    return fail(ErrorCode::kProtocol, std::string("not a list of answers: ") + error.what());
  }
}

}  // namespace kvboost::bench
