// SPDX-License-Identifier: Apache-2.0
// HookFile: one of git's hooks, and our lines in it. A shell script that is there gets them behind its first
// line, so that it runs as it did, with the arguments, the input and the exit status that it had. Anything
// else (another language, a link, a script that is switched off) is moved aside and called. Taking the lines
// out again leaves what was there, and what was edited since. One thread.
#pragma once

#include <array>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/error.h"

namespace kvboost::cli {

/// Those that we want lines in.
inline constexpr std::array<std::string_view, 4> kHooks = {"post-checkout", "post-merge", "post-commit",
                                                           "post-rewrite"};

class HookFile {
 public:
  /// `name` is one of kHooks.
  HookFile(const std::filesystem::path& folder, std::string_view name);

  enum class State {
    kAbsent,     // no hook at all
    kOther,      // one without our lines
    kInstalled,  // one with them
    kBroken,     // our lines have lost their end
  };
  struct View {
    State state = State::kAbsent;
    bool runs = false;      // it is executable
    bool current = false;   // our lines are those that `program` would write
    bool has_more = false;  // another hook is run too
  };
  /// kIo: it cannot be read.
  [[nodiscard]] Result<View> look(const std::filesystem::path& program) const;

  /// True if something had to be changed. The lines call `program`.
  [[nodiscard]] Result<bool> install(const std::filesystem::path& program) const;
  /// The same.
  [[nodiscard]] Result<bool> uninstall() const;

  [[nodiscard]] const std::filesystem::path& path() const { return file_; }
  /// Where a hook stands that was moved aside.
  [[nodiscard]] const std::filesystem::path& aside() const { return aside_; }

 private:
  struct Content;
  [[nodiscard]] Result<Content> read() const;
  [[nodiscard]] std::string lines(const std::filesystem::path& program) const;
  [[nodiscard]] Result<bool> replace_foreign(std::string_view lines) const;
  [[nodiscard]] Result<void> rename_to(const std::filesystem::path& from,
                                       const std::filesystem::path& to) const;

  std::string name_;
  std::filesystem::path file_;
  std::filesystem::path aside_;
};

}  // namespace kvboost::cli
