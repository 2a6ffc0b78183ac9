// SPDX-License-Identifier: Apache-2.0
#include "cache/track/walk.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/file_descriptor.h"
#include "cache/track/beneath.h"

namespace kvboost::cache {
namespace {

constexpr std::string_view kIgnoreFile = ".kvboostignore";
constexpr std::size_t kEntriesBetweenWords = 1024;

// Folders that hold other people's or derived files, by name. They are left out unless git tracks files in
// them; what else a build leaves behind is for .gitignore to say.
constexpr std::string_view kDependencyFolders[] = {"node_modules", "bower_components", ".venv", ".tox",
                                                   "__pycache__",  ".mypy_cache",      ".cache"};
constexpr std::string_view kVersionControlFolders[] = {".hg", ".svn", ".bzr", ".jj", "CVS"};
// Files by which a tool marks its folder as made by it.
constexpr const char* kMarkerFiles[] = {"CACHEDIR.TAG", "pyvenv.cfg", "CMakeCache.txt"};

struct DirectoryCloser {
  void operator()(DIR* directory) const { ::closedir(directory); }
};

bool has(int folder, const char* name) {
  struct stat status = {};
  return ::fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) == 0;
}

bool is_folder(int parent, const std::string& name) {
  struct stat status = {};
  return ::fstatat(parent, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(status.st_mode);
}

// The reason why the last system call failed.
std::string unreadable() {
  return std::string("unreadable: ") + std::strerror(errno);
}

std::int64_t nanoseconds(const struct timespec& time) {
  return time.tv_sec * 1'000'000'000 + time.tv_nsec;
}

bool contains(auto& names, std::string_view name) {
  return std::ranges::find(names, name) != std::end(names);
}

}  // namespace

Walk::Walk(std::filesystem::path root, const WalkLimits& limits)
    : root_(std::move(root)),
      limits_(limits),
      own_rules_(read_beneath(root_, kIgnoreFile, limits.max_file_bytes).value_or(std::string())) {}

Result<FileListing> Walk::run(const GitRules& rules, const std::stop_token& stop,
                              const std::function<void(std::int64_t)>& seen) {
  FileDescriptor root(::open(root_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  struct stat status = {};
  if (!root.is_open() || ::fstat(root.get(), &status) != 0) return fail_errno(root_.string(), errno);
  device_ = status.st_dev;
  listing_.head = rules.head();
  listing_.branch = rules.branch();
  listing_.note = rules.note();
  plain_ = !rules.is_repository();
  stop_ = stop;
  seen_ = seen;
  folder(std::move(root), {.rules = &rules, .outer = nullptr, .path = ""});
  if (stop_.stop_requested()) return fail(ErrorCode::kCancelled, "cancelled while listing files");
  if (!limit_.empty()) {
    if (!listing_.note.empty()) listing_.note += "; ";
    listing_.note += limit_ + ": the others are left out (" +
                     (plain_ ? "go to the directory that you mean, or " : "") +
                     "name what to leave out in .kvboostignore)";
  }
  std::ranges::sort(listing_.files, {}, &TrackedFile::path);
  std::ranges::sort(listing_.skipped, {}, &SkippedFile::path);
  return std::move(listing_);
}

void Walk::folder(FileDescriptor fd, const Place& place) {
  const std::unique_ptr<DIR, DirectoryCloser> directory(::fdopendir(fd.get()));
  if (!directory) return skip(place.path, unreadable());
  const int opened = fd.release();  // the DIR closes it
  // The names are read and sorted first, so that a listing that stops at a limit stops at the same file each
  // time.
  std::vector<std::pair<std::string, unsigned char>> names;
  while (const dirent* found = ::readdir(directory.get())) {
    const std::string_view name = found->d_name;
    if (name != "." && name != ".." && name != ".git") names.emplace_back(name, found->d_type);
  }
  std::ranges::sort(names);
  for (const auto& [name, type] : names) {
    if (!go_on()) return;
    if (type == DT_DIR || (type == DT_UNKNOWN && is_folder(opened, name))) {
      inner_folder(opened, name, place);
    } else {
      file(opened, name, place);
    }
  }
}

bool Walk::is_ignored(const Place& place) {
  if (!place.ignored) {
    place.ignored = place.outer != nullptr &&
                    (is_ignored(*place.outer) || place.rules->ignores(place.path.substr(place.prefix)));
  }
  return *place.ignored;
}

void Walk::inner_folder(int parent, const std::string& name, const Place& place) {
  Place inner{.rules = place.rules,
              .outer = &place,
              .path = place.path + name + "/",
              .prefix = place.prefix,
              .depth = place.depth + 1};
  const std::string inside = inner.path.substr(inner.prefix);
  const bool submodule = place.rules->is_submodule(inside.substr(0, inside.size() - 1));
  const bool tracked = submodule || place.rules->tracks_below(inside);
  if (!tracked && (!limit_.empty() || is_ignored(inner))) return;
  if (own_rules_.ignores(inner.path)) return skip(inner.path, std::string(kIgnoreFile));
  if (is_secret_path(inner.path)) return skip(inner.path, "secret");
  if (inner.depth > limits_.max_depth) {
    return skip(inner.path, "more than " + std::to_string(limits_.max_depth) + " folders deep");
  }
  FileDescriptor fd(::openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!fd.is_open()) return skip(inner.path, unreadable());
  if (submodule) return inner_repository(std::move(fd), inner.path, inner.depth);
  if (!tracked) {
    if (has(fd.get(), ".git")) {
      if (place.rules->is_repository()) return skip(inner.path, "another repository");
      return inner_repository(std::move(fd), inner.path, inner.depth);
    }
    if (const char* reason = unwanted_folder(fd.get(), name, place)) return skip(inner.path, reason);
  }
  folder(std::move(fd), inner);
}

void Walk::inner_repository(FileDescriptor fd, const std::string& path, int depth) {
  if (!has(fd.get(), ".git")) return;  // a submodule that was never fetched
  const std::filesystem::path root = root_ / path.substr(0, path.size() - 1);
  const GitRules rules = GitRules::open(root, root / ".git");
  if (!rules.note().empty()) skip(path, rules.note());
  folder(std::move(fd),
         {.rules = &rules, .outer = nullptr, .path = path, .prefix = path.size(), .depth = depth});
}

const char* Walk::unwanted_folder(int fd, const std::string& name, const Place& place) const {
  if (contains(kVersionControlFolders, name)) return "version control";
  if (contains(kDependencyFolders, name)) return "dependencies or a cache, by its name";
  for (const char* marker : kMarkerFiles) {
    if (has(fd, marker)) return "made by a tool (CACHEDIR.TAG, pyvenv.cfg or CMakeCache.txt)";
  }
  struct stat status = {};
  if (!place.rules->is_repository() && ::fstat(fd, &status) == 0 && status.st_dev != device_) {
    return "another file system";
  }
  return nullptr;
}

void Walk::file(int parent, const std::string& name, const Place& place) {
  const std::string path = place.path + name;
  const std::string inside = path.substr(place.prefix);
  const bool tracked = place.rules->tracks(inside);
  if (!tracked && (!limit_.empty() || is_ignored(place) || place.rules->ignores(inside))) return;
  if (own_rules_.ignores(path)) return skip(path, std::string(kIgnoreFile));
  if (is_secret_path(path)) return skip(path, "secret");
  struct stat status = {};
  if (::fstatat(parent, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
    if (errno != ENOENT) skip(path, unreadable());
    return;
  }
  if (S_ISLNK(status.st_mode)) return skip(path, "symbolic link");
  if (!S_ISREG(status.st_mode)) return skip(path, "not a regular file");
  const auto size = static_cast<std::uint64_t>(status.st_size);
  if (size > limits_.max_file_bytes) return skip(path, larger_than(limits_.max_file_bytes));
  if (!tracked || plain_) {
    const std::size_t most = plain_ ? limits_.max_plain_files : limits_.max_untracked_files;
    if (++untracked_ > most) {
      return stop_at("more than " + std::to_string(most) + " files" +
                     (plain_ ? "" : " that git does not track"));
    }
    untracked_bytes_ += size;
    if (plain_ && untracked_bytes_ > limits_.max_plain_bytes) {
      return stop_at("more than " + human_size(limits_.max_plain_bytes) + " of files");
    }
  }
  listing_.files.push_back(
      {path, size, nanoseconds(status.st_mtim), nanoseconds(status.st_ctim), status.st_ino});
}

bool Walk::go_on() {
  ++entries_;
  if (plain_ && entries_ > limits_.max_plain_entries) {
    stop_at("more than " + std::to_string(limits_.max_plain_entries) + " names to look at");
  }
  if (seen_ && entries_ % kEntriesBetweenWords == 0) seen_(static_cast<std::int64_t>(entries_));
  return !stop_.stop_requested() && (limit_.empty() || !plain_);
}

void Walk::stop_at(std::string limit) {
  if (limit_.empty()) limit_ = std::move(limit);
}

void Walk::skip(const std::string& path, std::string reason) {
  listing_.skipped.push_back({path, std::move(reason)});
}

}  // namespace kvboost::cache
