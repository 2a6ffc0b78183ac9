// SPDX-License-Identifier: Apache-2.0
#include "bench/bug_mining.h"

#include <algorithm>
#include <iterator>
#include <regex>
#include <sstream>
#include <utility>

#include "cache/rank/fixable.h"
#include "cache/track/history.h"

namespace kvboost::bench {
namespace {

constexpr std::size_t kMostChanged = 3;
constexpr std::size_t kMostLooked = 20'000;  // commits
constexpr std::size_t kLongestLine = 1'000;
constexpr std::size_t kShortest = 15;  // "fix bug" says nothing

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

}  // namespace

bool is_fix(const std::string& message) {
  static const std::regex kFix(
      R"(\b(fix(e[sd]|ing)?|bugs?|bugfix|crash(es|ed)?|leaks?|regressions?|wrong(ly)?|incorrect(ly)?|broken|overflow)\b)",
      std::regex::icase);
  static const std::regex kOther(
      R"(^\W*(docs?|tests?|ci|build|chore|style|refactor|release|bump|merge|revert)\b|\b(typos?|warnings?|formatting|flaky)\b)",
      std::regex::icase);
  const std::string title = first_line(message).substr(0, kLongestLine);
  return std::regex_search(title, kFix) && !std::regex_search(title, kOther);
}

std::string report_of(const std::string& message) {
  static const std::regex kTrailer(R"(^\s*([A-Z][A-Za-z]*-)+[A-Za-z]+:.*$|^\(?cherry picked from.*$)",
                                   std::regex::icase);
  static const std::regex kAddress(R"(<?[\w.+-]+@[\w-]+\.[\w.-]+>?)");
  std::string report;
  std::istringstream lines(message);
  for (std::string line; std::getline(lines, line);) {
    if (line.size() > kLongestLine) line.resize(kLongestLine);  // std::regex goes as deep as a line is long
    if (!std::regex_match(line, kTrailer)) report += std::regex_replace(line, kAddress, "") + "\n";
  }
  while (report.ends_with('\n')) report.pop_back();
  return report;
}

Result<BugSet> mine_bug_set(const std::filesystem::path& repository, std::size_t limit) {
  std::error_code error;
  const std::filesystem::path root = std::filesystem::canonical(repository, error);
  if (error) return fail(ErrorCode::kNotFound, "there is no folder " + repository.string());
  BugSet set{.name = "fixes of " + root.filename().string(), .cases = {}};
  std::size_t looked = 0;
  const auto walked = cache::walk_history(root, [&](const cache::CommitChange& change) {
    std::vector<std::string> changed;
    std::ranges::copy_if(change.modified, std::back_inserter(changed), cache::is_fixable);
    const std::string report = report_of(change.message);
    if (!changed.empty() && changed.size() <= kMostChanged && report.size() >= kShortest &&
        is_fix(change.message)) {
      BugCase bug{.id = change.id.substr(0, 12),
                  .kind = "commit-message",
                  .repository = set.name,
                  .tree = root.string(),
                  .commit = change.parent,
                  .report = report,
                  .changed_files = changed};
      bug.names_file = names_any(report, changed);
      set.cases.push_back(std::move(bug));
    }
    return ++looked < kMostLooked && (limit == 0 || set.cases.size() < limit);
  });
  if (!walked) return fail(walked.error());
  if (set.cases.empty()) {
    return fail(
        ErrorCode::kNotFound,
        root.string() + " has no commits that mend one to three source files, as far as their messages tell",
        "a commit counts whose first line has a word such as fix, fixes, bug, crash, leak, regression, "
        "wrong, "
        "incorrect, broken or overflow, and which is not about documents, tests, formatting or the build");
  }
  return set;
}

}  // namespace kvboost::bench
