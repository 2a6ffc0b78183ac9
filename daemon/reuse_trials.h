// SPDX-License-Identifier: Apache-2.0
// ReuseTrials: when a model's reuse is tried: once for each model that was loaded and once for each
// repository whose blocks are computed behind neighbours, while the daemon is idle; and when a user asks
// (model/check). `check` on any thread but the engine's, `when_idle` on one.
#pragma once

#include <set>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "base/digest.h"
#include "daemon/net/binder.h"
#include "daemon/pipeline/model_host.h"
#include "daemon/pipeline/neighbours.h"
#include "daemon/pipeline/reuse_gate.h"
#include "daemon/pipeline/warmer.h"
#include "daemon/prompt/repositories.h"
#include "daemon/protocol/methods.h"

namespace kvboost::daemon {

class ReuseTrials {
 public:
  struct Parts {
    ModelHost& models;
    ReuseGate& gate;
    Neighbours& neighbours;
    Repositories& repositories;
    Warmer& warmer;
    double tolerance = 0;  // nats, to be shown beside the results
  };
  explicit ReuseTrials(const Parts& parts) : parts_(parts) {}

  void check(const RequestContext& context, const protocol::ModelCheckParams& params,
             const Reply<protocol::ModelCheckResult>& reply);
  /// Tries what was not tried yet. Gives way to requests; returns early when `stop` comes.
  void when_idle(const std::stop_token& stop);

 private:
  void renew_all();
  void check_when_new(const std::stop_token& stop);
  void check_repositories(const std::stop_token& stop);
  [[nodiscard]] std::vector<protocol::RepositoryRepair> tried_repositories();

  const Parts parts_;
  Digest checked_;                                      // context digest of the model that was tried last
  std::set<std::pair<std::string, Digest>> looked_at_;  // roots, with the model's context digest
};

}  // namespace kvboost::daemon
