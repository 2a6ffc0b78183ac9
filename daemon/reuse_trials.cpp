// SPDX-License-Identifier: Apache-2.0
#include "daemon/reuse_trials.h"

#include <utility>

#include "base/log.h"

namespace kvboost::daemon {

void ReuseTrials::check(const RequestContext& context, const protocol::ModelCheckParams& params,
                        const Reply<protocol::ModelCheckResult>& reply) {
  const auto progress = [&](double share) {
    context.notify("check/progress", protocol::CheckProgress{static_cast<std::int64_t>(share * 100)});
  };
  const auto verdict = parts_.gate.check(params.again, progress, context.stop());
  if (!verdict) return reply(fail(verdict.error()));
  protocol::ModelCheckResult result;
  result.model = parts_.models.snapshot().path.string();
  result.policy = repair_policy_name(verdict->behind_neighbours.policy);
  result.reason = verdict->behind_neighbours.reason;
  result.header_policy = repair_policy_name(verdict->behind_header.policy);
  result.header_reason = verdict->behind_header.reason;
  result.tolerance = parts_.tolerance;
  for (const auto& [behind, trials] : verdict->trials) {
    for (const PolicyTrial& trial : trials) {
      result.trials.push_back({std::string(to_string(behind)), repair_policy_name(trial.policy),
                               trial.kl_mean, trial.kl_worst, trial.top1, trial.computed, trial.ratio,
                               parts_.gate.passes(trial)});
    }
  }
  result.repositories = tried_repositories();
  renew_all();
  reply(result);
}

std::vector<protocol::RepositoryRepair> ReuseTrials::tried_repositories() {
  const auto model = parts_.models.acquire({}, {});
  if (!model || !(*model)->names) return {};
  std::vector<protocol::RepositoryRepair> tried;
  for (const auto& repository : parts_.repositories.known()) {
    const Digest end = parts_.neighbours.find(**model, repository->root().string()).end;
    if (end == Digest() || !parts_.gate.was_tried_on(end)) continue;
    const ReusePermit permit =
        parts_.gate.verdict((*model)->engine->spec(), (*model)->names->context, end).behind_neighbours;
    tried.push_back({repository->root().string(), repair_policy_name(permit.policy), permit.reason});
  }
  return tried;
}

/// Once a model has been tried, blocks may be computed in another way.
void ReuseTrials::renew_all() {
  const auto model = parts_.models.acquire({}, {});
  if (!model) return;
  for (const auto& repository : parts_.repositories.known()) parts_.warmer.renew(repository, **model);
}

/// Tries a loaded model's reuse once, so that its requests find the verdict there.
void ReuseTrials::check_when_new(const std::stop_token& stop) {
  const ModelHost::Snapshot model = parts_.models.snapshot();
  if (model.state != ModelHost::State::kReady || !model.names || model.names->context == checked_) return;
  checked_ = model.names->context;
  const auto verdict = parts_.gate.check(false, {}, stop);
  if (verdict) return renew_all();
  if (!stop.stop_requested()) log::warn("the model's reuse could not be tried: {}", verdict.error().text());
}

/// Tries it on the files of each repository whose blocks are computed behind neighbours, once.
void ReuseTrials::check_repositories(const std::stop_token& stop) {
  const ModelHost::Snapshot model = parts_.models.snapshot();
  if (model.state != ModelHost::State::kReady || !model.names) return;
  for (const auto& repository : parts_.repositories.known()) {
    const std::string root = repository->root().string();
    // A model that is looked at is in use, and would never be unloaded.
    if (!parts_.neighbours.are_chosen(root) || !looked_at_.insert({root, model.names->context}).second)
      continue;
    if (parts_.neighbours.try_repository(*repository, stop))
      log::info("the model was tried on files of {}", root);
  }
}

void ReuseTrials::when_idle(const std::stop_token& stop) {
  check_when_new(stop);
  check_repositories(stop);
}

}  // namespace kvboost::daemon
