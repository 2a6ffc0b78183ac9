// SPDX-License-Identifier: Apache-2.0
#include "cache/chunk/cursor_place.h"

#include <tree_sitter/api.h>

#include <algorithm>

#include "base/text.h"
#include "cache/chunk/grammars.h"
#include "cache/chunk/parse_guard.h"
#include "cache/chunk/parsed_text.h"

namespace kvboost::cache {
namespace {

std::string_view line_at(std::string_view text, std::size_t at) {
  const std::size_t before = at == 0 ? std::string_view::npos : text.rfind('\n', at - 1);
  const std::size_t begin = before == std::string_view::npos ? 0 : before + 1;
  return text.substr(begin, text.find('\n', at) - begin);
}

/// The first line behind `at` that shows something, or nothing.
std::string_view next_line(std::string_view text, std::size_t at) {
  const std::size_t end = text.find('\n', at);
  const std::size_t first = end == std::string_view::npos ? end : text.find_first_not_of(kWhiteSpace, end);
  return first == std::string_view::npos ? std::string_view() : line_at(text, first);
}

/// Brackets, and what may stand behind them.
bool only_closes(std::string_view rest) {
  return rest.find_first_not_of(")]};, \t\r") == std::string_view::npos;
}

/// Whether a brace is the beginning of a value, by what stands before it: a text that is being written often
/// has no tree that tells.
bool begins_value(std::string_view text, std::size_t brace) {
  const std::size_t before =
      brace == 0 ? std::string_view::npos : text.find_last_not_of(kWhiteSpace, brace - 1);
  return before != std::string_view::npos && std::string_view("=(,[:").contains(text[before]);
}

/// Whether a line that ends in a colon begins as Python's statements with a body do.
bool begins_statement(std::string_view line) {
  constexpr std::string_view kWords[] = {"async", "case", "class",   "def",   "elif", "else",  "except",
                                         "for",   "if",   "finally", "match", "try",  "while", "with"};
  line.remove_prefix(std::min(line.find_first_not_of(kWhiteSpace), line.size()));
  return std::ranges::any_of(kWords, [&](std::string_view word) {
    return line.starts_with(word) && line.size() > word.size() &&
           (line[word.size()] == ' ' || line[word.size()] == ':');
  });
}

enum class Before { kNothing, kOpensBody, kComment };

/// What the tree says of the character at `last`, the last one before the cursor that shows.
Before by_tree(const ParsedText& parsed, std::string_view text, std::size_t last) {
  const auto at = static_cast<std::uint32_t>(last);
  const TSNode leaf = ts_node_descendant_for_byte_range(ts_tree_root_node(parsed.tree()), at, at + 1);
  if (ts_node_is_null(leaf)) return Before::kNothing;
  const std::string_view type = ts_node_type(leaf);
  if (type.contains("comment")) return Before::kComment;
  const TSNode parent = ts_node_parent(leaf);
  const std::string_view around = ts_node_is_null(parent) ? std::string_view("ERROR") : ts_node_type(parent);
  if (text[last] == '{') {
    const bool value =
        begins_value(text, last) ||
        contains_any(around, {"initializer", "object", "dictionary", "hash", "array", "literal", "template",
                              "interpolation", "import", "set", "string", "jsx"});
    return value ? Before::kNothing : Before::kOpensBody;
  }
  if (type == ":") {
    const bool statement = contains_any(around, {"definition", "statement", "clause"}) ||
                           (around == "ERROR" && begins_statement(line_at(text, last)));
    return statement ? Before::kOpensBody : Before::kNothing;
  }
  return type == "do" || type == "then" || type == "begin" ? Before::kOpensBody : Before::kNothing;
}

Before what_is_before(std::string_view path, std::string_view text, std::size_t last,
                      std::chrono::milliseconds budget) {
  if (const Grammar* grammar = find_grammar(path, text); grammar != nullptr && why_not_parse(text).empty()) {
    if (const auto parsed = ParsedText::parse(*grammar, text, budget)) return by_tree(*parsed, text, last);
  }
  return text[last] == '{' && !begins_value(text, last) ? Before::kOpensBody : Before::kNothing;
}

}  // namespace

std::size_t indent_of(std::string_view line) {
  std::size_t columns = 0;
  for (const char c : line) {
    if (c != ' ' && c != '\t') break;
    columns += c == '\t' ? kTabColumns - columns % kTabColumns : 1;
  }
  return columns;
}

CursorPlace cursor_place(std::string_view path, std::string_view text, std::size_t offset,
                         std::chrono::milliseconds budget) {
  const std::string_view rest = text.substr(offset, text.find('\n', offset) - offset);
  const std::size_t last = text.substr(0, offset).find_last_not_of(kWhiteSpace);
  if (last == std::string_view::npos || !only_closes(rest)) return {};
  const std::size_t indent = indent_of(line_at(text, last));
  const std::string_view behind = next_line(text, offset);
  const bool blank_line = text.substr(last, offset - last).contains('\n');
  // Nothing but white space, or what is indented less, may stand where the text is to go.
  const bool free_for_body = behind.empty() || indent_of(behind) <= indent;
  const std::size_t line_end = text.find('\n', offset);
  const std::string_view below =
      line_end == std::string_view::npos ? std::string_view() : line_at(text, line_end + 1);
  const bool free_for_member =
      blank_line &&
      (below.find_first_not_of(kWhiteSpace) == std::string_view::npos || indent_of(below) < indent);
  if (!free_for_body && !free_for_member) return {};
  switch (what_is_before(path, text, last, budget)) {
    case Before::kOpensBody:
      if (free_for_body) return {WantedText::kBody, indent};
      break;
    case Before::kComment:
      if (free_for_member) return {WantedText::kMember, indent};
      break;
    case Before::kNothing:
      break;
  }
  return {};
}

}  // namespace kvboost::cache
