// SPDX-License-Identifier: Apache-2.0
// Repositories: the work trees that the daemon follows, by root. Those asked about longest ago are forgotten.
// Any thread.
#pragma once

#include <filesystem>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "base/error.h"
#include "daemon/prompt/repository.h"

namespace kvboost::daemon {

class Repositories {
 public:
  using Served = std::function<void(const std::shared_ptr<Repository>&)>;
  /// `served` is called with each that is opened.
  explicit Repositories(RepositoryOptions options, Served served = {})
      : options_(options), served_(std::move(served)) {}

  /// The work tree that holds `directory`, known already or new.
  [[nodiscard]] Result<std::shared_ptr<Repository>> open(const std::filesystem::path& directory);

  /// The latest first.
  [[nodiscard]] std::vector<std::shared_ptr<Repository>> known() const;

 private:
  /// The one that is known of this work tree, or this.
  [[nodiscard]] std::shared_ptr<Repository> keep(std::shared_ptr<Repository> opened);

  const RepositoryOptions options_;
  const Served served_;
  mutable std::mutex mutex_;
  std::list<std::shared_ptr<Repository>> known_;  // the latest first
};

}  // namespace kvboost::daemon
