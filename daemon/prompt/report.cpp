// SPDX-License-Identifier: Apache-2.0
#include "daemon/prompt/report.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <set>
#include <tuple>
#include <utility>

#include "base/text.h"
#include "daemon/prompt/question.h"

namespace kvboost::daemon {
namespace {

// How much more a word counts for standing in a telling place.
constexpr double kTitleWeight = 1.0;
constexpr double kQuotedWeight = 1.0;
constexpr std::size_t kLongestTitle = 200;
constexpr std::size_t kLongestQuote = 80;
constexpr std::size_t kMostPlaces = 1'000;

// Lines that are the form's, not the reporter's: those that begin so, in lower case and without marks.
constexpr std::string_view kFormLines[] = {"actual behavior",
                                           "actual behaviour",
                                           "additional context",
                                           "anything else we need to know",
                                           "bug report",
                                           "checklist",
                                           "code of conduct",
                                           "description of the problem",
                                           "describe the bug",
                                           "describe the issue",
                                           "environment",
                                           "expected behavior",
                                           "expected behaviour",
                                           "how to reproduce",
                                           "is there anything youd like reviewers to focus on",
                                           "issue description",
                                           "minimal complete verifiable example",
                                           "original issue",
                                           "please include",
                                           "screenshots",
                                           "steps to reproduce",
                                           "tell us about your environment",
                                           "to reproduce",
                                           "version",
                                           "what actually happened",
                                           "what changes did you make",
                                           "what did you do",
                                           "what did you expect",
                                           "what happened",
                                           "what is the purpose of this",
                                           "what parser",
                                           "what rule",
                                           "what version",
                                           "what you expected"};
constexpr std::size_t kLongestFormLine = 120;

bool is_space(char c) {
  return std::isspace(static_cast<unsigned char>(c)) != 0;
}

/// Letters and digits in lower case, one space for each run of blanks.
std::string bare(std::string_view line) {
  std::string result;
  for (const char c : line) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
      result += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    } else if (is_space(c) && !result.empty() && result.back() != ' ') {
      result += ' ';
    }
  }
  return result;
}

bool is_box(std::string_view line) {
  while (line.starts_with('-') || line.starts_with('*') || line.starts_with(' ')) line.remove_prefix(1);
  return line.size() >= 3 && line[0] == '[' && line[2] == ']' && std::string_view(" xX").contains(line[1]);
}

bool is_form_line(std::string_view line) {
  if (is_box(line) || line.starts_with("```") || line.starts_with("~~~")) return true;
  if (line.empty() || line.size() > kLongestFormLine) return false;
  const std::string words = bare(line);
  if (words.empty()) return true;  // a rule
  return std::ranges::any_of(kFormLines, [&](std::string_view form) { return words.starts_with(form); });
}

/// Calls visit(line) for each line, without its end.
template <class Visit>
void for_each_line(std::string_view text, const Visit& visit) {
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    visit(text.substr(begin, end - begin));
    begin = end + 1;
  }
}

std::string without_comments(std::string_view text) {
  std::string result;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t open = std::min(text.find("<!--", begin), text.size());
    result += text.substr(begin, open - begin);
    const std::size_t close = text.find("-->", open);
    begin = open == text.size() || close == std::string_view::npos ? text.size() : close + 3;
  }
  return result;
}

std::string without_form(std::string_view text) {
  std::string result;
  for_each_line(without_comments(text), [&](std::string_view line) {
    const std::string_view words = trimmed(line);
    if (words.empty() || is_form_line(words)) return;
    result += line;
    result += '\n';
  });
  return trimmed(result).empty() ? std::string(text) : result;  // a report of nothing but headings
}

/// Short texts between quotes of one kind, on one line.
std::string quoted(std::string_view text) {
  std::string found;
  for_each_line(text, [&](std::string_view line) {
    for (const char quote : {'`', '"', '\''}) {
      for (std::size_t at = 0; (at = line.find(quote, at)) != std::string_view::npos;) {
        const std::size_t end = line.find(quote, at + 1);
        if (end == std::string_view::npos) break;
        // An apostrophe opens nothing.
        const bool opens = at == 0 || std::isalnum(static_cast<unsigned char>(line[at - 1])) == 0;
        if (opens && end - at > 1 && end - at <= kLongestQuote) {
          found += line.substr(at + 1, end - at - 1);
          found += '\n';
        }
        at = opens ? end + 1 : at + 1;
      }
    }
  });
  return found;
}

std::int32_t number_at(std::string_view text, std::size_t at) {
  std::int32_t number = 0;
  std::from_chars(text.data() + at, text.data() + text.size(), number);
  return std::max(number, 0);
}

/// The line that stands behind a file's name: "name:42", "name(42)", "name", line 42, "name line 42".
std::int32_t line_behind(std::string_view rest) {
  if (rest.size() > 1 && (rest[0] == ':' || rest[0] == '(')) return number_at(rest, 1);
  const std::size_t word = rest.substr(0, 12).find("line ");
  return word == std::string_view::npos ? 0 : number_at(rest, word + 5);
}

std::vector<NamedPlace> places_in(std::string_view text) {
  std::vector<NamedPlace> places;
  std::set<std::pair<std::string, std::int32_t>> seen;
  std::string with_slashes(text);
  std::ranges::replace(with_slashes, '\\', '/');
  for_each_line(with_slashes, [&](std::string_view line) {
    std::size_t from = 0;
    for (const std::string& name : read_question(line).names) {
      if (places.size() >= kMostPlaces) return;
      const std::size_t at = line.find(name, from);
      if (at == std::string_view::npos) continue;
      from = at + name.size();
      NamedPlace place{name, line_behind(line.substr(from))};
      if (seen.emplace(place.path, place.line).second) places.push_back(std::move(place));
    }
  });
  return places;
}

}  // namespace

Report read_report(std::string_view text) {
  Report report;
  report.text = without_form(text);
  report.query.push_back({read_question(report.text).query});
  const std::string_view all = report.text;
  const std::string_view title = all.substr(0, std::min(all.find('\n'), kLongestTitle));
  report.query.push_back({read_question(title).query, kTitleWeight});
  report.query.push_back({quoted(all), kQuotedWeight});
  report.places = places_in(all);
  return report;
}

}  // namespace kvboost::daemon
