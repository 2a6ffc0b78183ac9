// SPDX-License-Identifier: Apache-2.0
#include "daemon/prompt/repositories.h"

#include <algorithm>
#include <utility>

namespace kvboost::daemon {
namespace {

constexpr std::size_t kMostKnown = 8;

}  // namespace

Result<std::shared_ptr<Repository>> Repositories::open(const std::filesystem::path& directory) {
  auto opened = Repository::open(directory, options_);
  if (!opened) return opened;
  auto repository = keep(std::move(*opened));
  if (served_) served_(repository);
  return repository;
}

std::shared_ptr<Repository> Repositories::keep(std::shared_ptr<Repository> opened) {
  const std::lock_guard lock(mutex_);
  const auto known = std::ranges::find(known_, opened->root(), [](const auto& one) { return one->root(); });
  if (known != known_.end()) {
    known_.splice(known_.begin(), known_, known);
  } else {
    known_.push_front(std::move(opened));
    if (known_.size() > kMostKnown) known_.pop_back();
  }
  return known_.front();
}

std::vector<std::shared_ptr<Repository>> Repositories::known() const {
  const std::lock_guard lock(mutex_);
  return {known_.begin(), known_.end()};
}

}  // namespace kvboost::daemon
