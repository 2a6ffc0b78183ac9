// SPDX-License-Identifier: Apache-2.0
#include "daemon/prompt/named_paths.h"

#include <algorithm>
#include <iterator>
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

/// A file that one may name by itself.
Result<void> check_file(const Repository& repository, const std::string& given, const std::string& path) {
  if (const std::string reason = repository.skip_reason(path); !reason.empty()) {
    return fail(ErrorCode::kInvalidArgument, given + " is not read: " + reason);
  }
  if (const auto text = repository.read(path); !text) {
    return fail(ErrorCode::kInvalidArgument, given + " is not read: " + text.error().message);
  }
  return {};  // ignored by git, but asked for
}

Result<void> add_name(const Repository& repository, const std::string& given, const fs::path& directory,
                      NamedFiles& named) {
  const auto path = path_in_root(repository.root(), given, directory);
  if (!path) return fail(path.error());
  if (!repository.has(*path)) {
    std::error_code error;
    const fs::file_status status = fs::symlink_status(repository.root() / *path, error);
    if (!fs::exists(status)) return fail(ErrorCode::kNotFound, given + ": no such file or folder");
    if (fs::is_directory(status)) {
      auto files = files_of_folder(repository, given, *path);
      if (!files) return fail(files.error());
      std::ranges::move(*files, std::back_inserter(named.of_folders));
      return {};
    }
    if (auto good = check_file(repository, given, *path); !good) return good;
  }
  if (std::ranges::find(named.single, *path) == named.single.end()) named.single.push_back(*path);
  return {};
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

Result<NamedFiles> resolve_names(const Repository& repository, const std::vector<std::string>& paths,
                                 const fs::path& directory) {
  NamedFiles named;
  for (const std::string& given : paths) {
    if (auto added = add_name(repository, given, directory, named); !added) return fail(added.error());
  }
  const std::set<std::string> single(named.single.begin(), named.single.end());
  std::erase_if(named.of_folders, [&](const std::string& path) { return single.contains(path); });
  std::ranges::sort(named.of_folders);
  named.of_folders.erase(std::ranges::unique(named.of_folders).begin(), named.of_folders.end());
  return named;
}

Result<std::vector<std::string>> resolve_paths(const Repository& repository,
                                               const std::vector<std::string>& paths,
                                               const fs::path& directory) {
  auto named = resolve_names(repository, paths, directory);
  if (!named) return fail(named.error());
  std::ranges::move(named->of_folders, std::back_inserter(named->single));
  return std::move(named->single);
}

}  // namespace kvboost::daemon
