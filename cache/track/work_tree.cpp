// SPDX-License-Identifier: Apache-2.0
#include "cache/track/work_tree.h"

#include <system_error>

#include "cache/track/beneath.h"
#include "cache/track/git_rules.h"
#include "cache/track/secrets.h"
#include "cache/track/text_encoding.h"
#include "cache/track/walk.h"

namespace kvboost::cache {
namespace {

// Nothing larger is read, whatever the listing's own limit was.
constexpr std::uint64_t kMaxTextBytes = 64'000'000;

// git's own files can hold passwords (in the addresses of remotes), and are no part of the work tree.
bool is_in_git_dir(std::string_view path) {
  return path.starts_with(".git/") || path.find("/.git/") != std::string_view::npos || path == ".git" ||
         path.ends_with("/.git");
}

}  // namespace

struct WorkTree::Impl {
  FoundRepository found;
};

Result<WorkTree> WorkTree::discover(const std::filesystem::path& start) {
  std::error_code error;
  std::filesystem::path folder = std::filesystem::canonical(start, error);
  if (error) {
    return fail(ErrorCode::kNotFound, start.string() + ": " + error.message(),
                "name a file or folder that exists");
  }
  if (!std::filesystem::is_directory(folder, error)) folder = folder.parent_path();
  auto found = find_repository(folder);
  if (!found) return fail(found.error());
  return WorkTree(std::make_unique<Impl>(std::move(*found)));
}

WorkTree::WorkTree(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
WorkTree::WorkTree(WorkTree&&) noexcept = default;
WorkTree& WorkTree::operator=(WorkTree&&) noexcept = default;
WorkTree::~WorkTree() = default;

const std::filesystem::path& WorkTree::root() const {
  return impl_->found.root;
}
bool WorkTree::is_repository() const {
  return !impl_->found.git_dir.empty();
}

Result<FileListing> WorkTree::list(std::uint64_t max_file_bytes, const std::stop_token& stop,
                                   const std::function<void(std::int64_t)>& seen) const {
  const std::filesystem::path& root = impl_->found.root;
  std::filesystem::path git_dir = impl_->found.git_dir;
  std::error_code error;
  if (git_dir.empty() && std::filesystem::exists(root / ".git", error))
    git_dir = root / ".git";  // made since
  const GitRules rules = GitRules::open(root, git_dir);
  return Walk(root, {.max_file_bytes = max_file_bytes}).run(rules, stop, seen);
}

Result<std::string> WorkTree::read_text(std::string_view path) const {
  if (is_secret_path(path)) return fail(ErrorCode::kInvalidArgument, "secret");
  if (is_in_git_dir(path)) return fail(ErrorCode::kInvalidArgument, "git's own file");
  auto bytes = read_beneath(impl_->found.root, path, kMaxTextBytes);
  if (!bytes) return fail(bytes.error());
  auto text = to_utf8(std::move(*bytes));
  if (text && is_private_key(*text)) return fail(ErrorCode::kInvalidArgument, "secret: a private key");
  return text;
}

}  // namespace kvboost::cache
