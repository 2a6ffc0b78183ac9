// SPDX-License-Identifier: Apache-2.0
// Neighbours: which repository's blocks are computed behind which pieces of its files (neighbour_run.h). Such
// blocks are never exact, so they are made only where the model's trial lets them be used. The pieces are
// chosen once a repository and kept in the manifest as they were then: an edit of their files leaves all
// blocks as they are. Any thread.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "base/digest.h"
#include "cache/store/manifest.h"
#include "daemon/pipeline/model_host.h"
#include "daemon/pipeline/neighbour_run.h"
#include "daemon/pipeline/reuse_gate.h"
#include "daemon/prompt/repository.h"

namespace kvboost::daemon {

class Neighbours {
 public:
  struct Parts {
    cache::Manifest& manifest;
    ReuseGate& gate;
    bool prefix_only = false;  // then no block is placed but exact ones, and none may be made otherwise
  };
  explicit Neighbours(const Parts& parts) : parts_(parts) {}

  /// What the repository's blocks are computed behind with this model. Nothing where none were chosen.
  [[nodiscard]] NeighbourRun find(const LoadedModel& model, const std::string& root) const;
  /// Chooses them if that was not done yet. A choice that cannot be kept is none.
  [[nodiscard]] NeighbourRun choose(const LoadedModel& model, Repository& repository) const;

  /// Whether the model could be tried, and was not: before much is computed it should be, so that nothing
  /// must be computed anew afterwards.
  [[nodiscard]] bool is_untried(const LoadedModel& model) const;
  /// Whether that was done. `progress` gets 0..1. The caller must hold no lease: another model may have been
  /// chosen meanwhile, which is loaded once nobody holds this one.
  [[nodiscard]] bool try_model(const std::function<void(double)>& progress,
                               const std::stop_token& stop) const;

 private:
  /// Pieces as a model reads them: encoded once, since every request asks.
  struct Known {
    std::vector<cache::Neighbour> pieces;
    NeighbourRun run;
  };
  [[nodiscard]] bool usable(const LoadedModel& model) const;

  const Parts parts_;
  mutable std::mutex mutex_;                                       // guards known_
  mutable std::map<std::pair<std::string, Digest>, Known> known_;  // by root, and context of the model
};

}  // namespace kvboost::daemon
