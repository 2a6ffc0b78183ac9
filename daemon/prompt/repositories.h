// SPDX-License-Identifier: Apache-2.0
// Repositories: the work trees that the daemon follows, by root. Those asked about longest ago are forgotten.
// Any thread.
#pragma once

#include <filesystem>
#include <list>
#include <memory>
#include <mutex>

#include "base/error.h"
#include "daemon/prompt/repository.h"

namespace kvboost::daemon {

class Repositories {
 public:
  explicit Repositories(RepositoryOptions options) : options_(options) {}

  /// The work tree that holds `directory`, known already or new.
  [[nodiscard]] Result<std::shared_ptr<Repository>> open(const std::filesystem::path& directory);

 private:
  const RepositoryOptions options_;
  std::mutex mutex_;
  std::list<std::shared_ptr<Repository>> known_;  // the latest first
};

}  // namespace kvboost::daemon
