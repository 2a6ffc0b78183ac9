// SPDX-License-Identifier: Apache-2.0
#include "daemon/pipeline/neighbours.h"

#include <cstddef>
#include <utility>

#include "base/log.h"

namespace kvboost::daemon {
namespace {

constexpr std::size_t kMostKnown = 64;

}  // namespace

bool Neighbours::usable(const LoadedModel& model) const {
  if (parts_.prefix_only || !model.names) return false;
  return parts_.gate.verdict(model.engine->spec(), model.names->context).behind_neighbours.policy.has_value();
}

NeighbourRun Neighbours::find(const LoadedModel& model, const std::string& root) const {
  if (!usable(model)) return {};
  auto pieces = parts_.manifest.neighbours(root);
  const std::lock_guard lock(mutex_);
  if (known_.size() >= kMostKnown) known_.clear();
  Known& known = known_[{root, model.names->context}];
  if (known.pieces != pieces) {
    known.run = neighbour_run(pieces, model.engine->tokenizer(), model.chat, model.names->context,
                              model.engine->info().context);
    known.pieces = std::move(pieces);
  }
  return known.run;
}

NeighbourRun Neighbours::choose(const LoadedModel& model, Repository& repository) const {
  const std::string root = repository.root().string();
  if (!usable(model) || !parts_.manifest.neighbours(root).empty()) return find(model, root);
  auto chosen = choose_neighbours(repository, model.engine->tokenizer());
  if (chosen.empty()) return {};
  if (const auto kept = parts_.manifest.set_neighbours(root, std::move(chosen)); !kept) {
    log::warn("blocks of {} are computed behind the header alone: {}", root, kept.error().text());
    return {};
  }
  return find(model, root);
}

bool Neighbours::is_untried(const LoadedModel& model) const {
  if (parts_.prefix_only || !model.names) return false;
  return parts_.gate.waits_for_trial(model.engine->spec(), model.names->context);
}

bool Neighbours::try_model(const std::function<void(double)>& progress, const std::stop_token& stop) const {
  const auto tried = parts_.gate.check(false, progress, stop);
  if (!tried && !stop.stop_requested())
    log::warn("the model's reuse could not be tried: {}", tried.error().text());
  return tried.has_value();
}

}  // namespace kvboost::daemon
