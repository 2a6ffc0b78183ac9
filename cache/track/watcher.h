// SPDX-License-Identifier: Apache-2.0
// Watcher: tells that something in the folders of a work tree has changed, by inotify, so that idle time can
// be used to catch up. What has changed is for a new listing to find: a check at request time stays the
// truth, and is all there is where the system does not let us watch. Owns one thread, on which it calls; its
// methods can be called from any.
#pragma once

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace kvboost::cache {

struct WatchOptions {
  /// Folders at most; 0: half of what fs.inotify.max_user_watches gives the user, whose editor needs some
  /// too.
  std::size_t max_folders = 0;
  /// Changes are told when nothing has followed for so long, or when the first is as old as `longest`.
  std::chrono::milliseconds settle{300};
  std::chrono::milliseconds longest{2000};
};

class Watcher {
 public:
  using OnChange = std::function<void()>;

  /// Never fails: `note` says why nothing is watched. `on_change` must not destroy the watcher.
  [[nodiscard]] static std::unique_ptr<Watcher> start(std::filesystem::path root, OnChange on_change,
                                                      const WatchOptions& options = {});
  /// Stops; when it returns, `on_change` neither runs nor will.
  ~Watcher();
  Watcher(const Watcher&) = delete;
  Watcher& operator=(const Watcher&) = delete;

  /// Watches these folders (relative to the root, "" the root itself) and no others from now on: not what is
  /// beneath them. All or none: if there are too many, no change would be told for some.
  void watch(std::span<const std::string> folders);

  /// Folders that may be watched at most, unless the options say otherwise.
  [[nodiscard]] static std::size_t most_folders();

  /// One line, or empty when all folders are watched.
  [[nodiscard]] std::string note() const;

 private:
  struct Impl;
  explicit Watcher(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// The folders that the files of these paths are in, the root's own "" too; sorted, each once.
[[nodiscard]] std::vector<std::string> folders_of(std::span<const std::string> paths);

}  // namespace kvboost::cache
