// SPDX-License-Identifier: Apache-2.0
#include "bench/source_names.h"

#include <algorithm>
#include <array>
#include <functional>

#include "base/text.h"

namespace kvboost::bench {
namespace {

constexpr std::size_t kShortestName = 4;

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/// The word that `text` begins with.
std::string_view first_word(std::string_view text) {
  return text.substr(0, std::ranges::find_if_not(text, is_word) - text.begin());
}

/// The word that `text` ends with.
std::string_view last_word(std::string_view text) {
  std::size_t begin = text.size();
  while (begin > 0 && is_word(text[begin - 1])) --begin;
  return text.substr(begin);
}

bool is_name(std::string_view word) {
  constexpr std::array<std::string_view, 8> kKeywords = {"while",  "switch", "catch",  "return",
                                                         "sizeof", "elif",   "assert", "function"};
  return word.size() >= kShortestName && !(word[0] >= '0' && word[0] <= '9') &&
         std::ranges::find(kKeywords, word) == kKeywords.end();
}

void each_line(std::string_view text, const std::function<void(std::string_view)>& visit) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    visit(trimmed(text.substr(0, end), " \t\r"));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

std::string_view function_on(std::string_view line) {
  constexpr std::string_view kDef = "def ";
  if (line.starts_with(kDef)) return first_word(line.substr(kDef.size()));
  const std::size_t paren = line.find('(');
  // What has an operator before the parenthesis is a statement.
  if (!line.ends_with('{') || paren == std::string_view::npos) return {};
  const std::string_view before = line.substr(0, paren);
  const std::string_view name = last_word(before);
  const bool has_type = name.size() < before.size() && before[before.size() - name.size() - 1] != '.';
  const bool statement = before.find_first_of("=!?;|+,\"") != std::string_view::npos;
  return has_type && !statement ? name : std::string_view();
}

std::string_view type_on(std::string_view line) {
  for (const std::string_view kind : {"class ", "struct ", "enum class "}) {
    if (line.starts_with(kind) && (line.ends_with('{') || line.ends_with(':')))
      return first_word(line.substr(kind.size()));
  }
  return {};
}

std::vector<std::string> names_in(std::string_view text, std::string_view (*name_on)(std::string_view)) {
  std::vector<std::string> names;
  each_line(text, [&](std::string_view line) {
    const std::string_view name = name_on(line);
    if (is_name(name) && std::ranges::find(names, name) == names.end()) names.emplace_back(name);
  });
  return names;
}

}  // namespace

std::vector<std::string> functions_in(std::string_view text) {
  return names_in(text, function_on);
}

std::vector<std::string> types_in(std::string_view text) {
  return names_in(text, type_on);
}

std::vector<std::string> lines_in(std::string_view text) {
  std::vector<std::string> lines;
  each_line(text, [&](std::string_view line) {
    if (line.size() >= 24 && line.size() <= 90 && std::ranges::any_of(line, is_word))
      lines.emplace_back(line);
  });
  return lines;
}

bool has_word(std::string_view text, std::string_view name) {
  for (std::size_t at = text.find(name); at != std::string_view::npos; at = text.find(name, at + 1)) {
    const std::size_t end = at + name.size();
    if ((at == 0 || !is_word(text[at - 1])) && (end == text.size() || !is_word(text[end]))) return true;
  }
  return false;
}

}  // namespace kvboost::bench
