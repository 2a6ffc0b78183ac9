// SPDX-License-Identifier: Apache-2.0
// ReuseGate: whether, and with how much repair, a model may be served from blocks that were computed behind
// other text. Each model is tried once (reuse_trial.h), when the daemon is idle or when `doctor --model`
// asks; the result is kept on disk by the digest of model and header, and for each kind of block the cheapest
// policy that stays within the tolerance is taken from then on. Until then, and when none does, only exact
// blocks are used. Any thread but the engine's may call `check`; the others any thread.
//
//   record   := "kvboost reuse" SP version LF *policy
//   policy   := BEHIND SP NAME SP kl_mean SP kl_worst SP top1 SP computed SP ratio LF
//   BEHIND   := "header" | "neighbours"                                          NAME: repair_policy.h
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "base/digest.h"
#include "base/error.h"
#include "daemon/pipeline/model_host.h"
#include "daemon/pipeline/plan_reader.h"
#include "daemon/pipeline/reuse_trial.h"
#include "daemon/pipeline/scheduler.h"

namespace kvboost::daemon {

/// What the user wants done with blocks that stand behind other text than they were computed behind.
enum class ReuseChoice {
  kAuto,        // used as the model's trial allows
  kExact,       // not used
  kUnrepaired,  // used as they are
};

/// What may be done with blocks of one kind.
struct ReusePermit {
  std::optional<RepairPolicy> policy;  // none: they are used where they are exact
  std::string reason;                  // why it is so, a sentence
};

using PolicyTrials = std::vector<PolicyTrial>;

struct ReuseVerdict {
  std::map<Behind, PolicyTrials> trials;  // empty: not tried
  ReusePermit behind_header;
  ReusePermit behind_neighbours;

  /// The same for blocks of both kinds.
  [[nodiscard]] static ReuseVerdict alike(const ReusePermit& permit,
                                          std::map<Behind, PolicyTrials> trials = {}) {
    return {std::move(trials), permit, permit};
  }
};

/// What a request over a repository may use. `neighbours`: NeighbourRun::end.
[[nodiscard]] Reuse reuse_within(const ReuseVerdict& verdict, const BlockNames& names, BlockCache& blocks,
                                 const Digest& neighbours, bool prefix_only);
/// The part of the verdict by which a plan was read.
[[nodiscard]] const ReusePermit& permit_of(const ReuseVerdict& verdict, const PlanRead& read);

class ReuseGate {
 public:
  struct Parts {
    Scheduler& engine_thread;
    ModelHost& models;
    std::filesystem::path directory;  // of the records
    ReuseChoice choice = ReuseChoice::kAuto;
    double tolerance = 0;  // the largest mean divergence that passes, nats
  };
  explicit ReuseGate(Parts parts) : parts_(std::move(parts)) {}
  ReuseGate(const ReuseGate&) = delete;
  ReuseGate& operator=(const ReuseGate&) = delete;

  /// Whether a policy that was tried may be used.
  [[nodiscard]] bool passes(const PolicyTrial& trial) const { return trial.kl_mean <= parts_.tolerance; }

  /// By what is on record for this model and header.
  [[nodiscard]] ReuseVerdict verdict(const engine::ModelSpec& spec, const Digest& context) const;

  /// Whether that verdict would be another one once the model is tried.
  [[nodiscard]] bool waits_for_trial(const engine::ModelSpec& spec, const Digest& context) const;

  /// Tries the model that is loaded, unless that was done already and `again` is not wanted. Gives way to
  /// every request. One check runs at a time; others wait for it. `progress` gets 0..1 between steps.
  [[nodiscard]] Result<ReuseVerdict> check(bool again, const std::function<void(double)>& progress,
                                           const std::stop_token& stop);

 private:
  [[nodiscard]] std::filesystem::path file_of(const Digest& context) const;
  [[nodiscard]] std::map<Behind, PolicyTrials> trials_of(const Digest& context) const;
  [[nodiscard]] ReusePermit judge(const PolicyTrials& trials) const;
  [[nodiscard]] Result<PolicyTrials> try_out(Behind behind, LoadedModel& model,
                                             const std::function<void(double)>& progress,
                                             const std::stop_token& stop) const;

  const Parts parts_;
  std::mutex checking_;       // held by the check that runs
  mutable std::mutex mutex_;  // protects known_
  mutable std::map<Digest, std::map<Behind, PolicyTrials>> known_;
};

/// Why this kind of model can't be served from moved blocks at all; empty when it can.
[[nodiscard]] std::string unfit_for_reuse(const engine::ModelSpec& spec);

}  // namespace kvboost::daemon
