// SPDX-License-Identifier: Apache-2.0
#include "cache/track/watcher.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <map>
#include <mutex>
#include <set>
#include <string_view>
#include <thread>
#include <utility>

#include "base/file_descriptor.h"

namespace kvboost::cache {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// A file that is being written counts when it is closed: editors write in many steps.
constexpr std::uint32_t kEvents = IN_CLOSE_WRITE | IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO |
                                  IN_ATTRIB | IN_DELETE_SELF | IN_MOVE_SELF;
constexpr std::uint32_t kFlags = IN_ONLYDIR | IN_DONT_FOLLOW | IN_EXCL_UNLINK;

std::string not_watched(const std::string& why) {
  return "files are not watched (" + why + "): changes are found when a request comes";
}

std::string too_many(std::size_t folders, std::size_t most) {
  return std::to_string(folders) + " folders, and fs.inotify.max_user_watches leaves room for " +
         std::to_string(most);
}

}  // namespace

struct Watcher::Impl {
  Impl(std::filesystem::path where, OnChange tell, const WatchOptions& wanted)
      : root(std::move(where)), on_change(std::move(tell)), options(wanted) {}

  const std::filesystem::path root;
  const OnChange on_change;
  const WatchOptions options;
  FileDescriptor inotify;
  FileDescriptor stop;  // an eventfd: readable from the end on

  mutable std::mutex mutex;            // guards the two below
  std::map<std::string, int> watches;  // folder → the kernel's number
  std::string note;

  std::jthread thread;  // last: it uses all of the above

  void release_all(std::string why) {
    for (const auto& [folder, number] : watches) ::inotify_rm_watch(inotify.get(), number);
    watches.clear();
    note = not_watched(why);
  }

  // Waits for events until `until`, or for ever. False at the end.
  bool wait(const Clock::time_point* until, bool& changed) {
    std::array<pollfd, 2> ready = {{{inotify.get(), POLLIN, 0}, {stop.get(), POLLIN, 0}}};
    int timeout = -1;
    if (until != nullptr) {
      const auto left = std::chrono::ceil<milliseconds>(*until - Clock::now()).count();
      timeout = static_cast<int>(std::max<std::int64_t>(left, 0));
    }
    const int n = ::poll(ready.data(), ready.size(), timeout);
    if (n < 0 && errno != EINTR) return false;
    if (n > 0 && ready[1].revents != 0) return false;
    changed = n > 0 && ready[0].revents != 0 && drain();
    return true;
  }

  // Takes in what has come. A watch that the kernel ended since we asked it to is no change; an overflow of
  // its queue is.
  bool drain() {
    alignas(inotify_event) std::array<char, 16384> buffer;
    bool changed = false;
    while (true) {
      const ssize_t size = ::read(inotify.get(), buffer.data(), buffer.size());
      if (size <= 0) return changed;
      for (ssize_t at = 0; at < size;) {
        inotify_event event;
        std::memcpy(&event, buffer.data() + at, sizeof(event));
        at += static_cast<ssize_t>(sizeof(event) + event.len);
        if ((event.mask & ~static_cast<std::uint32_t>(IN_IGNORED | IN_ISDIR)) != 0) changed = true;
      }
    }
  }

  void run() {
    bool changed = false;
    while (wait(nullptr, changed)) {
      if (!changed) continue;
      const auto last = Clock::now() + options.longest;
      auto until = std::min(Clock::now() + options.settle, last);
      while (Clock::now() < until) {
        if (!wait(&until, changed)) return;
        if (changed) until = std::min(Clock::now() + options.settle, last);
      }
      on_change();
    }
  }
};

std::unique_ptr<Watcher> Watcher::start(std::filesystem::path root, OnChange on_change,
                                        const WatchOptions& options) {
  auto impl = std::make_unique<Impl>(std::move(root), std::move(on_change), options);
  impl->inotify = FileDescriptor(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  const int failed = impl->inotify.is_open() ? 0 : errno;
  impl->stop = FileDescriptor(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  if (failed == 0 && impl->stop.is_open()) {
    impl->thread = std::jthread([raw = impl.get()] { raw->run(); });
  } else {
    impl->note = not_watched(std::string("inotify: ") + std::strerror(failed != 0 ? failed : EMFILE));
  }
  return std::unique_ptr<Watcher>(new Watcher(std::move(impl)));
}

Watcher::Watcher(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Watcher::~Watcher() {
  // The thread's own end joins it.
  if (impl_->thread.joinable()) ::eventfd_write(impl_->stop.get(), 1);
}

void Watcher::watch(std::span<const std::string> folders) {
  const std::lock_guard lock(impl_->mutex);
  if (!impl_->thread.joinable()) return;
  const std::size_t most = impl_->options.max_folders > 0 ? impl_->options.max_folders : most_folders();
  if (folders.size() > most) return impl_->release_all(too_many(folders.size(), most));
  const std::set<std::string_view> wanted(folders.begin(), folders.end());
  std::erase_if(impl_->watches, [&](const auto& watch) {
    if (wanted.contains(watch.first)) return false;
    ::inotify_rm_watch(impl_->inotify.get(), watch.second);
    return true;
  });
  for (const std::string& folder : folders) {
    // Also where there is a watch: the folder may be another one by now.
    const int number =
        ::inotify_add_watch(impl_->inotify.get(), (impl_->root / folder).c_str(), kEvents | kFlags);
    if (number >= 0) {
      impl_->watches[folder] = number;
    } else if (errno == ENOSPC) {
      return impl_->release_all("fs.inotify.max_user_watches is reached");
    } else if (errno == ENOMEM) {
      return impl_->release_all(std::strerror(ENOMEM));
    }  // else it is gone, or not to be read: no file in it is either
  }
  impl_->note.clear();
}

std::size_t Watcher::most_folders() {
  std::size_t most = 0;
  std::ifstream("/proc/sys/fs/inotify/max_user_watches") >> most;
  return most / 2;
}

std::string Watcher::note() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->note;
}

std::vector<std::string> folders_of(std::span<const std::string> paths) {
  std::set<std::string, std::less<>> folders = {""};
  for (const std::string_view path : paths) {
    for (std::size_t slash = path.rfind('/'); slash != std::string_view::npos && slash > 0;
         slash = path.rfind('/', slash - 1)) {
      if (!folders.emplace(path.substr(0, slash)).second) break;  // and those around it are there too
    }
  }
  return {folders.begin(), folders.end()};
}

}  // namespace kvboost::cache
