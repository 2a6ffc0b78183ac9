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

std::string record_of(const std::map<Behind, PolicyTrials>& trials) {
  std::ostringstream record;
  record.precision(17);
  record << first_line() << '\n';
  for (const auto& [behind, of_kind] : trials) {
    for (const PolicyTrial& trial : of_kind) {
      record << to_string(behind) << ' ' << repair_policy_name(trial.policy) << ' ' << trial.kl_mean << ' '
             << trial.kl_worst << ' ' << trial.top1 << ' ' << trial.computed << ' ' << trial.ratio << '\n';
    }
  }
  return record.str();
}

/// Empty when the file is absent, damaged or of another version: the model is tried anew.
std::map<Behind, PolicyTrials> read_record(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::string line;
  if (!std::getline(in, line) || line != first_line()) return {};
  std::map<Behind, PolicyTrials> trials;
  while (std::getline(in, line)) {
    std::istringstream fields(line);
    std::string kind, name;
    PolicyTrial trial;
    fields >> kind >> name >> trial.kl_mean >> trial.kl_worst >> trial.top1 >> trial.computed >> trial.ratio;
    const bool near = kind == to_string(Behind::kNeighbours);
    const auto policy = parse_repair_policy(name);
    const bool good = fields && trial.kl_mean >= 0 && trial.kl_worst >= 0;
    if (!good || (!near && kind != to_string(Behind::kHeader)) || !policy || !*policy) return {};
    trial.policy = **policy;
    trials[near ? Behind::kNeighbours : Behind::kHeader].push_back(trial);
  }
  return trials.size() == 2 ? trials : std::map<Behind, PolicyTrials>();
}

}  // namespace

Reuse reuse_within(const ReuseVerdict& verdict, const BlockNames& names, BlockCache& blocks,
                   const Digest& neighbours, bool prefix_only) {
  return {.blocks = &blocks,
          .model = names.model,
          .context = names.context,
          .repair = verdict.behind_header.policy,
          .prefix_only = prefix_only,
          .repair_near = verdict.behind_neighbours.policy,
          .neighbours = neighbours};
}

const ReusePermit& permit_of(const ReuseVerdict& verdict, const PlanRead& read) {
  return read.near ? verdict.behind_neighbours : verdict.behind_header;
}

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
  if (std::string unfit = unfit_for_reuse(spec); !unfit.empty())
    return ReuseVerdict::alike({std::nullopt, std::move(unfit)});
  auto trials = trials_of(context);
  constexpr const char* kChosen = "the option reuse says so";
  if (parts_.choice == ReuseChoice::kExact)
    return ReuseVerdict::alike({std::nullopt, kChosen}, std::move(trials));
  if (parts_.choice == ReuseChoice::kUnrepaired)
    return ReuseVerdict::alike({RepairPolicy{}, kChosen}, std::move(trials));
  if (trials.empty()) {
    return ReuseVerdict::alike({std::nullopt,
                                "the model is not tried yet: that happens when the daemon is idle, or by "
                                "`kvboost doctor --model`"});
  }
  const ReusePermit header = judge(trials[Behind::kHeader]);
  ReusePermit near = judge(trials[Behind::kNeighbours]);
  const auto cost = [&](const ReusePermit& permit) {
    const PolicyTrials& all = trials[Behind::kHeader];
    return std::ranges::find(all, permit.policy, &PolicyTrial::policy) - all.begin();
  };
  if (near.policy && header.policy && cost(near) > cost(header))
    near = {std::nullopt, "blocks behind the header alone need less repair"};
  return {std::move(trials), header, near};
}

bool ReuseGate::waits_for_trial(const engine::ModelSpec& spec, const Digest& context) const {
  return parts_.choice == ReuseChoice::kAuto && unfit_for_reuse(spec).empty() && trials_of(context).empty();
}

ReusePermit ReuseGate::judge(const PolicyTrials& trials) const {
  const auto cheapest = std::ranges::find_if(trials, [&](const PolicyTrial& trial) { return passes(trial); });
  if (cheapest != trials.end()) {
    return {cheapest->policy, formatted("mean divergence %.4f nats from a full read, %g allowed",
                                        cheapest->kl_mean, parts_.tolerance)};
  }
  const auto best = std::ranges::min_element(trials, {}, &PolicyTrial::kl_mean);
  return {std::nullopt,
          formatted("no policy stays within a divergence of %g nats; the closest one gives %.4f",
                    parts_.tolerance, best->kl_mean)};
}

std::filesystem::path ReuseGate::file_of(const Digest& context) const {
  return parts_.directory / context.hex();
}

std::map<Behind, PolicyTrials> ReuseGate::trials_of(const Digest& context) const {
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
  std::map<Behind, PolicyTrials> trials;
  for (const Behind behind : {Behind::kHeader, Behind::kNeighbours}) {
    const auto half = [&](double share) {
      if (progress) progress((static_cast<double>(trials.size()) + share) / 2);
    };
    auto tried = try_out(behind, loaded, half, stop);
    if (!tried) return fail(tried.error());
    trials.emplace(behind, std::move(*tried));
  }
  {
    const std::lock_guard lock(mutex_);
    known_[context] = std::move(trials);
  }
  verdict = this->verdict(loaded.engine->spec(), context);
  for (const auto& [behind, permit] : {std::pair(Behind::kHeader, &verdict.behind_header),
                                       {Behind::kNeighbours, &verdict.behind_neighbours}}) {
    log::info("reuse of {}, blocks behind {}: {}: {}", loaded.path.string(), to_string(behind),
              repair_policy_name(permit->policy), permit->reason);
  }
  auto kept = ensure_private_dir(parts_.directory);
  if (kept) kept = replace_file(file_of(context), record_of(verdict.trials));
  if (!kept) log::warn("the trial of the model is not kept: {}", kept.error().text());
  return verdict;
}

Result<PolicyTrials> ReuseGate::try_out(Behind behind, LoadedModel& model,
                                        const std::function<void(double)>& progress,
                                        const std::stop_token& stop) const {
  ReuseTrial trial(behind);
  while (!trial.done()) {
    if (stop.stop_requested()) return fail(ErrorCode::kCancelled, "cancelled");
    const auto stepped = engine_step(parts_.engine_thread, Priority::kWarm, stop,
                                     [&](const auto& token) { return trial.step(model, token); });
    if (!stepped) return fail(stepped.error());
    progress(trial.progress());
  }
  return trial.results();
}

}  // namespace kvboost::daemon
