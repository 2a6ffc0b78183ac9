// SPDX-License-Identifier: Apache-2.0
#include "cli/hook_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <optional>

#include "base/replace_file.h"
#include "base/text.h"

namespace kvboost::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kBegin = "# >>> kvboost, until the line that ends it >>>\n";
constexpr std::string_view kEnd = "# <<< kvboost <<<\n";
// A hook that nobody else has written anything in.
constexpr std::string_view kOwn = "#!/bin/sh\n# Made by `kvboost hook install`.\n";
constexpr std::string_view kCallAside =
    "[ ! -x \"$0.before-kvboost\" ] || exec \"$0.before-kvboost\" \"$@\"\n";
constexpr std::string_view kAsideSuffix = ".before-kvboost";
constexpr std::array<std::string_view, 6> kShells = {"sh", "bash", "dash", "ash", "ksh", "zsh"};

/// Whether the text is a script of a shell that understands our lines, with something behind its first line.
bool is_shell_script(std::string_view text) {
  const auto end = text.find('\n');
  if (!text.starts_with("#!") || end == std::string_view::npos) return false;
  std::string_view rest = text.substr(2, end - 2);
  while (!rest.empty()) {  // "#!/usr/bin/env -S bash -e": a word that is a shell's name
    rest.remove_prefix(std::min(rest.find_first_not_of(" \t\r"), rest.size()));
    const std::string_view word = rest.substr(0, rest.find_first_of(" \t\r"));
    rest.remove_prefix(word.size());
    if (std::ranges::find(kShells, word.substr(word.rfind('/') + 1)) != kShells.end()) return true;
  }
  return false;
}

std::string with_lines(std::string_view text, std::string_view lines) {
  const std::size_t behind = text.find('\n') + 1;
  return std::string(text.substr(0, behind)) + std::string(lines) + std::string(text.substr(behind));
}

/// The place of our lines: begin and size. Nothing: they are not there, or (kCorrupt) not whole.
Result<std::optional<std::pair<std::size_t, std::size_t>>> find_lines(std::string_view text) {
  const auto begin = text.find(kBegin);
  if (begin == std::string_view::npos) return std::nullopt;
  const auto end = text.find(kEnd, begin);
  if (end == std::string_view::npos) return fail(ErrorCode::kCorrupt, "kvboost's lines have lost their end");
  return std::pair(begin, end + kEnd.size() - begin);
}

}  // namespace

/// What stands at the hook's place.
struct HookFile::Content {
  bool exists = false;
  bool plain = false;  // a file, not a link
  mode_t mode = 0;
  std::string text{};                 // without our lines
  std::optional<std::string> ours{};  // our lines

  [[nodiscard]] bool executable() const { return (mode & 0111) != 0; }
};

HookFile::HookFile(const fs::path& folder, std::string_view name) : name_(name), file_(folder / name) {
  aside_ = file_;
  aside_ += kAsideSuffix;
}

Result<HookFile::Content> HookFile::read() const {
  struct stat status {};
  if (::lstat(file_.c_str(), &status) != 0) {
    if (errno == ENOENT || errno == ENOTDIR) return Content{};  // core.hooksPath may be /dev/null
    return fail_errno("cannot look at " + file_.string(), errno);
  }
  Content content{.exists = true, .plain = S_ISREG(status.st_mode), .mode = status.st_mode & 07777};
  if (S_ISLNK(status.st_mode)) return content;
  if (!content.plain) return fail(ErrorCode::kInvalidArgument, file_.string() + " is no file");
  std::ifstream in(file_, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(in), {}};
  if (!in) return fail(ErrorCode::kIo, "cannot read " + file_.string());
  const auto lines = find_lines(text);
  if (!lines) {
    return fail(lines.error().code, file_.string() + ": " + lines.error().message,
                "take them out by hand, from the line \"# >>> kvboost\" on");
  }
  if (*lines) {
    const auto [begin, size] = **lines;
    content.ours = text.substr(begin, size);
    text.erase(begin, size);
  }
  content.text = std::move(text);
  return content;
}

/// In the background and with nothing open, so that git neither waits for it nor hears of it; in a shell of
/// its own, so that a `wait` further down does not wait for it either.
std::string HookFile::lines(const fs::path& program) const {
  const std::string word = shell_word(program.string());
  // git calls it for single files too; and a new branch at the same commit changes nothing.
  const bool checkout = name_ == "post-checkout";
  const std::string when = checkout ? "[ \"${3-}\" = 1 ] && [ \"${1-}\" != \"${2-}\" ] && " : "";
  return std::string(kBegin) + "if " + when + "[ -x " + word + " ]; then\n  (" + word + " hook run " + name_ +
         " \"$@\" </dev/null >/dev/null 2>&1 &)\nfi\n" + std::string(kEnd);
}

Result<HookFile::View> HookFile::look(const fs::path& program) const {
  const auto content = read();
  if (!content && content.error().code == ErrorCode::kCorrupt) return View{.state = State::kBroken};
  if (!content) return fail(content.error());
  View view;
  if (!content->exists) return view;
  view.runs = ::access(file_.c_str(), X_OK) == 0;
  view.state = content->ours ? State::kInstalled : State::kOther;
  view.current = content->ours == lines(program);
  view.has_more = content->text != kOwn && view.state == State::kInstalled;
  return view;
}

Result<bool> HookFile::install(const fs::path& program) const {
  const auto content = read();
  if (!content) return fail(content.error());
  const std::string ours = lines(program);
  const auto put = [&](std::string_view text, mode_t mode) -> Result<bool> {
    if (auto written = replace_file(file_, with_lines(text, ours), mode); !written)
      return fail(written.error());
    return true;
  };
  if (content->ours == ours) return false;
  if (content->ours) return put(content->text, content->mode);
  if (!content->exists) return put(kOwn, 0755);
  if (content->plain && content->executable() && is_shell_script(content->text)) {
    return put(content->text, content->mode);
  }
  return replace_foreign(ours);
}

/// Our own script in its place, which calls it.
Result<bool> HookFile::replace_foreign(std::string_view ours) const {
  std::error_code error;
  if (fs::exists(fs::symlink_status(aside_, error))) {
    return fail(ErrorCode::kInvalidArgument,
                aside_.string() + " is there already, and so is " + file_.string(), "remove one of them");
  }
  if (auto moved = rename_to(file_, aside_); !moved) return fail(moved.error());
  const std::string text = with_lines(std::string(kOwn) + std::string(kCallAside), ours);
  if (auto written = replace_file(file_, text, 0755); !written) {
    (void)rename_to(aside_, file_);
    return fail(written.error());
  }
  return true;
}

Result<bool> HookFile::uninstall() const {
  const auto content = read();
  if (!content) return fail(content.error());
  std::error_code error;
  const bool has_aside = fs::exists(fs::symlink_status(aside_, error));
  const bool untouched =
      content->text == kOwn || content->text == std::string(kOwn) + std::string(kCallAside);
  if (content->ours && !untouched) {
    if (auto written = replace_file(file_, content->text, content->mode); !written)
      return fail(written.error());
    return true;
  }
  if (content->exists && !content->ours) return false;
  if (has_aside) {
    if (auto moved = rename_to(aside_, file_); !moved) return fail(moved.error());
    return true;
  }
  if (!content->exists) return false;
  if (::unlink(file_.c_str()) != 0) return fail_errno("cannot remove " + file_.string(), errno);
  return true;
}

Result<void> HookFile::rename_to(const fs::path& from, const fs::path& to) const {
  if (::rename(from.c_str(), to.c_str()) == 0) return {};
  return fail_errno("cannot rename " + from.string() + " to " + to.filename().string(), errno);
}

}  // namespace kvboost::cli
