// SPDX-License-Identifier: Apache-2.0
#include "daemon/pipeline/follower.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/log.h"

namespace kvboost::daemon {
namespace {

constexpr std::size_t kMostFollowed = 8;

}  // namespace

Follower::Follower(const Parts& parts, const cache::WatchOptions& options)
    : parts_(parts),
      options_(options),
      most_folders_(options.max_folders > 0 ? options.max_folders : cache::Watcher::most_folders()) {}

Follower::~Follower() {
  stop();
}

void Follower::stop() {
  stop_.request_stop();
  List gone;  // watchers end outside of the mutex: their threads may be waiting for it
  const std::lock_guard lock(mutex_);
  stopped_ = true;
  gone.swap(followed_);
}

Follower::List::iterator Follower::find(const std::filesystem::path& root) {
  return std::ranges::find(followed_, root, [](const Followed& one) { return one.repository->root(); });
}

void Follower::served(const std::shared_ptr<Repository>& repository) {
  {
    const std::lock_guard lock(mutex_);
    if (const auto known = find(repository->root()); known != followed_.end()) {
      followed_.splice(followed_.begin(), followed_, known);
      return;
    }
  }
  submit(&Follower::watch, repository);
}

void Follower::warmed(const std::shared_ptr<Repository>& repository) {
  submit(&Follower::watch, repository);
}

void Follower::changed(const std::shared_ptr<Repository>& repository) {
  {
    const std::lock_guard lock(mutex_);
    const auto known = find(repository->root());
    if (known == followed_.end() || std::exchange(known->check_is_due, true)) return;
  }
  submit(&Follower::check, repository);
}

void Follower::submit(void (Follower::*work)(const std::shared_ptr<Repository>&),
                      const std::shared_ptr<Repository>& repository) {
  const std::lock_guard lock(mutex_);  // so that none is submitted once `stop` has returned
  if (stopped_) return;
  parts_.workers.submit(Priority::kWarm, {.run = [this, work, repository] { (this->*work)(repository); },
                                          .drop = [](const Error&) {},
                                          .stop = {},
                                          .is_request = false});
}

/// The folders of all files that are warm. Where there are more than may be watched, the work trees that were
/// asked about longest ago are let go.
void Follower::watch(const std::shared_ptr<Repository>& repository) {
  std::vector<std::string> paths;
  const auto read = parts_.manifest.for_each(
      repository->root().string(), [&](const std::string& path, const auto&) { paths.push_back(path); });
  if (!read || paths.empty()) return;
  const std::vector<std::string> folders = cache::folders_of(paths);
  List gone;
  const std::lock_guard lock(mutex_);
  if (stopped_) return;
  auto known = find(repository->root());
  if (known == followed_.end()) {
    followed_.push_front({repository, nullptr});
    known = followed_.begin();
    known->watcher = cache::Watcher::start(
        repository->root(), [this, repository] { changed(repository); }, options_);
  }
  known->folders = folders.size();
  const auto all_folders = [&] {
    return std::accumulate(followed_.begin(), followed_.end(), std::size_t{0},
                           [](std::size_t sum, const Followed& one) { return sum + one.folders; });
  };
  while (followed_.size() > 1 && (followed_.size() > kMostFollowed || all_folders() > most_folders_)) {
    auto oldest = std::prev(followed_.end());
    if (oldest == known) --oldest;
    gone.splice(gone.end(), followed_, oldest);
  }
  known->watcher->watch(folders);
  if (!known->watcher->note().empty()) known->folders = 0;
}

/// Has the files computed that are warm as they were, and are otherwise by now. Without a model in memory
/// that is left for the next request: it is not loaded for it.
void Follower::check(const std::shared_ptr<Repository>& repository) {
  {
    const std::lock_guard lock(mutex_);
    if (const auto known = find(repository->root()); known != followed_.end()) known->check_is_due = false;
  }
  watch(repository);  // folders may have been made anew
  if (parts_.models.snapshot().state != ModelHost::State::kReady) return;
  if (const auto fresh = repository->refresh(stop_.get_token()); !fresh) {
    return log::debug("{}: {}", repository->root().string(), fresh.error().text());
  }
  std::vector<std::string> edited;
  const auto read =
      parts_.manifest.for_each(repository->root().string(), [&](const std::string& path, const auto& file) {
        const auto digest = repository->digest(path);
        if (digest && *digest != file.text) edited.push_back(path);
      });
  if (!read || edited.empty()) return;
  const std::lock_guard lock(mutex_);
  if (stopped_) return;
  parts_.warmer.submit({.repository = repository, .files = std::move(edited)}, [](const auto& outcome) {
    if (!outcome) log::debug("not computed after an edit: {}", outcome.error().text());
  });
}

Follower::State Follower::state(const std::filesystem::path& root) const {
  const std::lock_guard lock(mutex_);
  for (const Followed& one : followed_) {
    if (one.repository->root() == root) return {one.folders, one.watcher->note()};
  }
  return {};
}

}  // namespace kvboost::daemon
