// SPDX-License-Identifier: Apache-2.0
#include "daemon/pipeline/reuse_gate.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <utility>

#include "base/log.h"
#include "base/paths.h"
#include "base/replace_file.h"
#include "base/text.h"
#include "daemon/pipeline/engine_step.h"
#include "daemon/pipeline/reuse_samples.h"

namespace kvboost::daemon {
namespace {

/// Of the record, of what is tried and how. Another one is no record.
std::string first_line() {
  return "kvboost reuse " + std::to_string(kReuseSamplesVersion);
}

std::string record_of(const std::vector<PolicyTrial>& trials) {
  std::ostringstream record;
  record.precision(17);
  record << first_line() << '\n';
  for (const PolicyTrial& trial : trials) {
    record << repair_policy_name(trial.policy) << ' ' << trial.kl_mean << ' ' << trial.kl_worst << ' '
           << trial.top1 << ' ' << trial.computed << ' ' << trial.ratio << '\n';
  }
  return record.str();
}

/// Empty when the file is absent, damaged or of another version: the model is tried anew.
std::vector<PolicyTrial> read_record(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::string line;
  if (!std::getline(in, line) || line != first_line()) return {};
  std::vector<PolicyTrial> trials;
  while (std::getline(in, line)) {
    std::istringstream fields(line);
    std::string name;
    PolicyTrial trial;
    fields >> name >> trial.kl_mean >> trial.kl_worst >> trial.top1 >> trial.computed >> trial.ratio;
    const auto policy = parse_repair_policy(name);
    const bool good = fields && trial.kl_mean >= 0 && trial.kl_worst >= 0;
    if (!good || !policy || !*policy) return {};
    trial.policy = **policy;
    trials.push_back(trial);
  }
  return trials;
}

}  // namespace

std::string unfit_for_reuse(const engine::ModelSpec& spec) {
  if (spec.sliding_window > 0) {
    return "the model attends within a sliding window of " + std::to_string(spec.sliding_window) + " tokens";
  }
  constexpr std::string_view kKnown[] = {"none", "linear", "yarn"};
  if (std::ranges::find(kKnown, spec.rope.scaling) == std::end(kKnown))
    return "the model's RoPE scaling '" + spec.rope.scaling + "' is not known";
  return {};
}

ReuseVerdict ReuseGate::verdict(const engine::ModelSpec& spec, const Digest& context) const {
  if (const std::string unfit = unfit_for_reuse(spec); !unfit.empty()) return {{}, std::nullopt, unfit};
  ReuseVerdict verdict = judge(trials_of(context));
  if (parts_.choice == ReuseChoice::kExact) {
    verdict.policy = std::nullopt;
    verdict.reason = "the option reuse says so";
  } else if (parts_.choice == ReuseChoice::kUnrepaired) {
    verdict.policy = RepairPolicy{};
    verdict.reason = "the option reuse says so";
  }
  return verdict;
}

ReuseVerdict ReuseGate::judge(std::vector<PolicyTrial> trials) const {
  ReuseVerdict verdict;
  if (trials.empty()) {
    verdict.reason =
        "the model is not tried yet: that happens when the daemon is idle, or by "
        "`kvboost doctor --model`";
    return verdict;
  }
  const auto cheapest = std::ranges::find_if(trials, [&](const PolicyTrial& trial) { return passes(trial); });
  if (cheapest == trials.end()) {
    const auto best = std::ranges::min_element(trials, {}, &PolicyTrial::kl_mean);
    verdict.reason = formatted("no policy stays within a divergence of %g nats; the closest one gives %.4f",
                               parts_.tolerance, best->kl_mean);
  } else {
    verdict.policy = cheapest->policy;
    verdict.reason = formatted("mean divergence %.4f nats from a full read, %g allowed", cheapest->kl_mean,
                               parts_.tolerance);
  }
  verdict.trials = std::move(trials);
  return verdict;
}

std::filesystem::path ReuseGate::file_of(const Digest& context) const {
  return parts_.directory / context.hex();
}

std::vector<PolicyTrial> ReuseGate::trials_of(const Digest& context) const {
  const std::lock_guard lock(mutex_);
  const auto [known, is_new] = known_.try_emplace(context);
  if (is_new) known->second = read_record(file_of(context));
  return known->second;
}

Result<ReuseVerdict> ReuseGate::check(bool again, const std::function<void(double)>& progress,
                                      const std::stop_token& stop) {
  const std::lock_guard one_at_a_time(checking_);
  auto model = parts_.models.acquire({}, stop);
  if (!model) return fail(model.error());
  LoadedModel& loaded = **model;
  if (!loaded.names) {
    return fail(ErrorCode::kModel, "nothing can be stored for this model; the daemon's log says why",
                "`kvboost daemon logs`");
  }
  const Digest context = loaded.names->context;
  auto verdict = this->verdict(loaded.engine->spec(), context);
  if (!unfit_for_reuse(loaded.engine->spec()).empty() || (!verdict.trials.empty() && !again)) return verdict;
  ReuseTrial trial;
  while (!trial.done()) {
    if (stop.stop_requested()) return fail(ErrorCode::kCancelled, "cancelled");
    const auto stepped = engine_step(parts_.engine_thread, Priority::kWarm, stop,
                                     [&](const auto& token) { return trial.step(loaded, token); });
    if (!stepped) return fail(stepped.error());
    if (progress) progress(trial.progress());
  }
  {
    const std::lock_guard lock(mutex_);
    known_[context] = trial.results();
  }
  verdict = this->verdict(loaded.engine->spec(), context);
  log::info("reuse of {}: {}: {}", loaded.path.string(), repair_policy_name(verdict.policy), verdict.reason);
  auto kept = ensure_private_dir(parts_.directory);
  if (kept) kept = replace_file(file_of(context), record_of(verdict.trials));
  if (!kept) log::warn("the trial of the model is not kept: {}", kept.error().text());
  return verdict;
}

}  // namespace kvboost::daemon
