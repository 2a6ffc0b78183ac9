// SPDX-License-Identifier: Apache-2.0
#include "base/daemon_files.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "base/paths.h"

namespace kvboost {
namespace {

namespace fs = std::filesystem;

/// A directory that the user chose: not necessarily private, but nobody else may replace files in it.
Result<void> check_chosen_dir(const fs::path& dir) {
  struct stat status {};
  if (::stat(dir.c_str(), &status) != 0) {
    return fail_errno("the socket's directory " + dir.string(), errno,
                      "create it, or change the option socket");
  }
  if (!S_ISDIR(status.st_mode)) {
    return fail(ErrorCode::kInvalidArgument, dir.string() + " is not a directory",
                "change the option socket");
  }
  if (status.st_uid != ::geteuid() && status.st_uid != 0) {
    return fail(
        ErrorCode::kInvalidArgument,
        "the socket's directory " + dir.string() + " belongs to user " + std::to_string(status.st_uid),
        "choose one of yours with the option socket");
  }
  const bool others_write = (status.st_mode & 0022) != 0;
  if (others_write && (status.st_mode & S_ISVTX) == 0) {
    return fail(ErrorCode::kInvalidArgument, "others may write into the socket's directory " + dir.string(),
                "chmod go-w '" + dir.string() + "'");
  }
  return {};
}

}  // namespace

Result<DaemonFiles> daemon_files(const fs::path& socket) {
  fs::path chosen = socket;
  if (chosen.empty()) {
    const auto dir = runtime_dir();
    if (!dir) return fail(dir.error());
    if (auto made = ensure_private_dir(*dir); !made) return fail(made.error());
    chosen = *dir / "kvboostd.sock";
  } else {
    if (!chosen.is_absolute() || !chosen.has_filename()) {
      return fail(ErrorCode::kInvalidArgument,
                  "the option socket is no absolute path of a file: " + chosen.string());
    }
    if (auto good = check_chosen_dir(chosen.parent_path()); !good) return fail(good.error());
  }
  fs::path stem = chosen;
  if (stem.extension() == ".sock") stem.replace_extension();
  return DaemonFiles{chosen, stem.string() + ".lock", stem.string() + ".start"};
}

}  // namespace kvboost
