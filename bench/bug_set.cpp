// SPDX-License-Identifier: Apache-2.0
#include "bench/bug_set.h"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/digest.h"

namespace kvboost::bench {
namespace {

using nlohmann::json;

std::string text_of(const json& object, const char* field) {
  const auto found = object.find(field);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

/// A list of texts, or one that was written as Python writes it: "['a.py', 'b.py']".
std::vector<std::string> list_of(const json& value) {
  std::vector<std::string> list;
  if (value.is_array()) {
    for (const json& item : value) {
      if (item.is_string()) list.push_back(item.get<std::string>());
    }
  } else if (value.is_string()) {
    const auto text = value.get<std::string>();
    for (std::size_t at = 0; (at = text.find_first_of("'\"", at)) != std::string::npos;) {
      const std::size_t end = text.find(text[at], at + 1);
      if (end == std::string::npos) break;
      list.push_back(text.substr(at + 1, end - at - 1));
      at = end + 1;
    }
  }
  return list;
}

/// {"id", "report_kind", "repo", "report", "changed_files", "distractors", "leak", "tree": {"key"}}.
BugCase own_case(const json& object) {
  BugCase bug;
  bug.id = text_of(object, "id");
  bug.kind = text_of(object, "report_kind");
  bug.repository = text_of(object, "repo");
  bug.report = text_of(object, "report");
  bug.tree = text_of(object.value("tree", json::object()), "key");
  bug.changed_files = list_of(object.value("changed_files", json()));
  const json distractors = object.value("distractors", json::object());
  for (const auto& [kind, files] : distractors.items()) bug.distractors[kind] = list_of(files);
  const std::string leak = text_of(object, "leak");
  bug.names_file = leak == "basename" || leak == "path";
  return bug;
}

/// Long Code Arena: {"repo_owner", "repo_name", "base_sha", "issue_title", "issue_body", "changed_files"}.
BugCase arena_case(const json& object) {
  BugCase bug;
  bug.repository = text_of(object, "repo_owner") + "/" + text_of(object, "repo_name");
  bug.kind = "issue";
  bug.tree = text_of(object, "repo_owner") + "__" + text_of(object, "repo_name");
  bug.commit = text_of(object, "base_sha");
  bug.id = text_of(object, "text_id");
  if (bug.id.empty()) bug.id = bug.tree + "@" + bug.commit;
  bug.report = text_of(object, "issue_title") + "\n" + text_of(object, "issue_body");
  bug.changed_files = list_of(object.value("changed_files", json()));
  bug.names_file = names_any(bug.report, bug.changed_files);
  return bug;
}

std::optional<BugCase> case_of(const json& object) {
  if (!object.is_object()) return std::nullopt;
  BugCase bug = object.contains("base_sha") ? arena_case(object) : own_case(object);
  const bool whole = !bug.id.empty() && !bug.tree.empty() && !bug.changed_files.empty();
  return whole ? std::optional(std::move(bug)) : std::nullopt;
}

/// {tree: {language: [path]}}.
Result<std::map<std::string, std::set<std::string>>> read_candidates(const std::filesystem::path& file) {
  std::map<std::string, std::set<std::string>> candidates;
  std::ifstream in(file);
  if (!in) return candidates;
  const json all = json::parse(in, nullptr, /*allow_exceptions=*/false);
  if (!all.is_object()) return fail(ErrorCode::kInvalidArgument, file.string() + ": not a JSON object");
  for (const auto& [tree, languages] : all.items()) {
    for (const json& files : languages) {
      for (std::string& path : list_of(files)) candidates[tree].insert(std::move(path));
    }
  }
  return candidates;
}

bool is_telling(std::string_view stem) {
  return std::ranges::any_of(stem, [](char c) { return c == '_' || c == '-' || (c >= 'A' && c <= 'Z'); });
}

}  // namespace

Result<BugSet> read_bug_set(const std::filesystem::path& file) {
  std::ifstream in(file);
  if (!in) return fail(ErrorCode::kNotFound, "cannot read " + file.string());
  BugSet set{.name = file.stem().string(), .cases = {}};
  std::size_t number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    auto bug = case_of(json::parse(line, nullptr, /*allow_exceptions=*/false));
    if (!bug) {
      return fail(ErrorCode::kInvalidArgument,
                  file.string() + ":" + std::to_string(number) + ": not a report with its changed files",
                  "bench/README.md tells which forms are read");
    }
    set.cases.push_back(std::move(*bug));
  }
  if (set.cases.empty()) return fail(ErrorCode::kInvalidArgument, file.string() + " has no reports");
  auto candidates = read_candidates(file.parent_path() / "candidates.json");
  if (!candidates) return fail(candidates.error());
  set.candidates = std::move(*candidates);
  return set;
}

bool names_any(std::string_view report, const std::vector<std::string>& paths) {
  return std::ranges::any_of(paths, [&](const std::string& path) {
    const std::string name = std::filesystem::path(path).filename().string();
    const std::string stem = name.substr(0, name.rfind('.'));
    return report.contains(name) || (is_telling(stem) && report.contains(stem));
  });
}

void shuffle_cases(BugSet& set, std::size_t seed, std::size_t limit) {
  const auto rank = [&](const BugCase& bug) { return sha256(std::to_string(seed) + " " + bug.id).hex(); };
  std::ranges::sort(set.cases, {}, rank);
  if (limit > 0 && set.cases.size() > limit)
    set.cases.erase(set.cases.begin() + static_cast<std::ptrdiff_t>(limit), set.cases.end());
}

}  // namespace kvboost::bench
