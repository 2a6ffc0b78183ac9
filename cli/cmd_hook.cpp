// SPDX-License-Identifier: Apache-2.0
#include "cli/cmd_hook.h"

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>

#include "cli/cmd_warm.h"
#include "cli/git.h"
#include "cli/hook_file.h"
#include "cli/render.h"
#include "cli/start_daemon.h"

namespace kvboost::cli {
namespace {

namespace fs = std::filesystem;

/// The program that the hooks call: this one.
fs::path this_program() {
  return program_dir() / "kvboost";
}

Result<HookPlace> place_of(const Session& session) {
  if (auto there = session.need_directory(); !there) return fail(there.error());
  return find_hooks(session.directory());
}

/// Does `step` to each hook; the number of those that it changed.
template <class Step>
Result<int> each_hook(const HookPlace& place, const Step& step) {
  int changed = 0;
  for (const std::string_view name : kHooks) {
    const auto done = step(HookFile(place.hooks, name));
    if (!done) return fail(done.error());
    if (*done) ++changed;
  }
  return changed;
}

void note_shared_folder(Session& session, const HookPlace& place) {
  if (!place.configured) return;
  session.note("core.hooksPath names that folder: whatever else uses it gets these hooks too");
}

std::string state_text(const HookFile::View& view) {
  switch (view.state) {
    case HookFile::State::kAbsent:
      return "absent";
    case HookFile::State::kOther:
      return "other";
    case HookFile::State::kInstalled:
      return "installed";
    case HookFile::State::kBroken:
      return "broken";
  }
  return {};
}

/// What a person should do something about, or empty.
std::string problem_of(const HookFile::View& view) {
  if (view.state == HookFile::State::kBroken)
    return "kvboost's lines have lost their end: take them out by hand";
  if (view.state != HookFile::State::kInstalled) return {};
  if (!view.runs) return "git does not run it: it is not executable";
  if (!view.current) return "it calls another kvboost: `kvboost hook install` changes that";
  return {};
}

nlohmann::ordered_json hook_json(const HookFile& file, const std::string_view name,
                                 const HookFile::View& view) {
  return {{"name", name},
          {"state", state_text(view)},
          {"path", printable(file.path().string())},
          {"runs_another", view.has_more},
          {"problem", problem_of(view)}};
}

/// The commit that the repository was at before, as git's hook tells it. Empty: unknown, or nothing changed.
std::string earlier_revision(const std::string& hook, const std::vector<std::string>& arguments) {
  const std::string first = arguments.empty() ? "" : arguments.front();
  if (hook == "post-checkout") return first;
  if (hook == "post-commit") return "HEAD~1";
  return "ORIG_HEAD";  // of a merge or a rebase
}

/// A rebase and `git am` commit again and again, and call post-rewrite when all is done.
bool in_the_middle(const std::string& hook, const fs::path& git_dir) {
  if (hook != "post-commit") return false;
  std::error_code error;
  return fs::exists(git_dir / "rebase-merge", error) || fs::exists(git_dir / "rebase-apply", error);
}

/// A daemon that we start must not take the variables for its own, and neither must git.
void forget_repository(const fs::path& directory) {
  const auto names = git(directory, {"rev-parse", "--local-env-vars"});
  if (!names) return;
  std::istringstream lines(*names);
  for (std::string name; std::getline(lines, name);) ::unsetenv(name.c_str());
}

}  // namespace

int install_hooks(Session& session, const HookArguments&) {
  const auto place = place_of(session);
  if (!place) return session.failed(place.error(), kExitFailed);
  std::error_code error;
  fs::create_directories(place->hooks, error);
  if (error) {
    return session.failed(
        {ErrorCode::kIo, "cannot make " + place->hooks.string() + ": " + error.message(), ""});
  }
  const auto changed = each_hook(*place, [](const HookFile& file) { return file.install(this_program()); });
  if (!changed) return session.failed(changed.error());
  const std::string where = printable(place->hooks.string());
  session.out().write(*changed == 0 ? "the hooks in " + where + " are installed already\n"
                                    : plural(*changed, "hook") + " installed in " + where + "\n");
  note_shared_folder(session, *place);
  return kExitDone;
}

int uninstall_hooks(Session& session, const HookArguments&) {
  const auto place = place_of(session);
  if (!place) return session.failed(place.error(), kExitFailed);
  const auto changed = each_hook(*place, [&](const HookFile& file) {
    const auto done = file.uninstall();
    std::error_code error;
    if (done && fs::exists(fs::symlink_status(file.aside(), error))) {
      session.note(file.path().string() + " was changed since; what stood there before is in " +
                   file.aside().filename().string());
    }
    return done;
  });
  if (!changed) return session.failed(changed.error());
  session.out().write(*changed == 0 ? "no hooks were installed\n"
                                    : plural(*changed, "hook") + " put back as they were\n");
  return kExitDone;
}

int show_hooks(Session& session, const HookArguments& arguments) {
  const auto place = place_of(session);
  if (!place) return session.failed(place.error(), kExitFailed);
  nlohmann::ordered_json hooks = nlohmann::ordered_json::array();
  Table table({{"hook"}, {"state"}, {"remark"}});
  for (const std::string_view name : kHooks) {
    const HookFile file(place->hooks, name);
    const auto view = file.look(this_program());
    if (!view) return session.failed(view.error());
    hooks.push_back(hook_json(file, name, *view));
    std::string remark = problem_of(*view);
    if (remark.empty() && view->has_more) remark = "another hook is run too";
    table.add({std::string(name), state_text(*view), remark});
  }
  if (arguments.json) {
    session.out().write(json_line({{"work_tree", place->work_tree.string()},
                                   {"folder", place->hooks.string()},
                                   {"core_hooks_path", place->configured},
                                   {"hooks", std::move(hooks)}}));
  } else {
    session.out().write_painted(table.text(session.out()));
    session.out().write("in " + printable(place->hooks.string()) + "\n");
  }
  return kExitDone;
}

int run_hook(Session& session, const HookArguments& arguments) {
  const fs::path& here = session.directory();
  const bool amended = arguments.hook == "post-rewrite" && !arguments.arguments.empty() &&
                       arguments.arguments.front() == "amend";  // post-commit has been called
  const auto git_dir = git(here, {"rev-parse", "--absolute-git-dir"});
  if (amended || !session.config() || !git_dir || in_the_middle(arguments.hook, *git_dir)) return kExitDone;
  forget_repository(here);
  WarmArguments what;
  what.background = true;
  const std::string before = earlier_revision(arguments.hook, arguments.arguments);
  // The first commit has no earlier one, and a clone checks out from nothing.
  const auto commit =
      git(here, {"rev-parse", "--verify", "--quiet", "--end-of-options", before + "^{commit}"});
  if (commit) {
    what.since = *commit;
  } else {
    what.changed = true;
  }
  (void)warm(session, what);
  return kExitDone;
}

}  // namespace kvboost::cli
