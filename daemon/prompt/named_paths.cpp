// SPDX-License-Identifier: Apache-2.0
#include "daemon/prompt/named_paths.h"

#include <algorithm>
#include <set>
#include <system_error>
#include <utility>

namespace kvboost::daemon {
namespace {

namespace fs = std::filesystem;

std::unexpected<Error> fail_outside(const std::string& given, const fs::path& root) {
  return fail(ErrorCode::kInvalidArgument, given + " is outside of the work tree " + root.string(),
              "go to the repository that it belongs to");
}

Result<std::vector<std::string>> files_of_folder(const Repository& repository, const std::string& given,
                                                 const std::string& folder) {
  std::vector<std::string> files = repository.files(folder.empty() ? folder : folder + "/");
  if (!files.empty()) return files;
  const std::string reason = repository.skip_reason(folder + "/");
  return fail(ErrorCode::kInvalidArgument,
              given + ": " +
                  (reason.empty() ? std::string("no files to read in this folder") : "left out: " + reason),
              "name a file in it, or look at what .gitignore and .kvboostignore say");
}

Result<std::vector<std::string>> files_of(const Repository& repository, const std::string& given,
                                          const fs::path& directory) {
  const auto path = path_in_root(repository.root(), given, directory);
  if (!path) return fail(path.error());
  if (repository.has(*path)) return std::vector{*path};
  std::error_code error;
  const fs::file_status status = fs::symlink_status(repository.root() / *path, error);
  if (!fs::exists(status)) return fail(ErrorCode::kNotFound, given + ": no such file or folder");
  if (fs::is_directory(status)) return files_of_folder(repository, given, *path);
  if (const std::string reason = repository.skip_reason(*path); !reason.empty()) {
    return fail(ErrorCode::kInvalidArgument, given + " is not read: " + reason);
  }
  if (const auto text = repository.read(*path); !text) {
    return fail(ErrorCode::kInvalidArgument, given + " is not read: " + text.error().message);
  }
  return std::vector{*path};  // ignored by git, but asked for
}

}  // namespace

Result<std::string> path_in_root(const fs::path& root, const std::string& given, const fs::path& directory) {
  std::error_code error;
  const fs::path whole = (fs::weakly_canonical(directory, error) / given).lexically_normal();
  const fs::path named = whole.has_filename() ? whole : whole.parent_path();
  fs::path real = fs::weakly_canonical(named.parent_path(), error) / named.filename();
  if (error) return fail(ErrorCode::kNotFound, given + ": " + error.message());
  if (const fs::path canonical = fs::weakly_canonical(named, error); !error && canonical == root) real = root;
  const std::string& text = real.native();
  if (text == root.native()) return std::string();
  const std::string prefix = root == "/" ? "/" : root.native() + "/";
  if (!text.starts_with(prefix)) return fail_outside(given, root);
  return text.substr(prefix.size());
}

Result<std::vector<std::string>> resolve_paths(const Repository& repository,
                                               const std::vector<std::string>& paths,
                                               const std::filesystem::path& directory) {
  std::vector<std::string> all;
  std::set<std::string> seen;
  for (const std::string& given : paths) {
    auto files = files_of(repository, given, directory);
    if (!files) return fail(files.error());
    for (std::string& file : *files) {
      if (seen.insert(file).second) all.push_back(std::move(file));
    }
  }
  return all;
}

}  // namespace kvboost::daemon
