// SPDX-License-Identifier: Apache-2.0
#include "daemon/prompt/hint.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <vector>

#include "base/text.h"

namespace kvboost::daemon {
namespace {

using cache::CursorPlace;
using cache::indent_of;
using cache::WantedText;

constexpr std::string_view kClosers = ")]}";
constexpr std::size_t kMostEqualLines = 2;

std::string_view without_end_blanks(std::string_view text) {
  return text.substr(0, text.find_last_not_of(kWhiteSpace) + 1);
}

bool has_word(std::string_view text) {
  return std::ranges::any_of(text, [](unsigned char c) { return std::isalnum(c) != 0 || c >= 0x80; });
}

/// A line that ends what was opened: brackets and what may follow them, or the keyword of Lua, Ruby and the
/// like.
bool only_closes(std::string_view line) {
  line = trimmed(line);
  if (line == "end" || line == "fi" || line == "done") return true;
  return !line.empty() && kClosers.contains(line.front()) &&
         line.find_first_not_of(")]};,") == std::string_view::npos;
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  for (std::size_t begin = 0;;) {
    const std::size_t end = text.find('\n', begin);
    lines.push_back(text.substr(begin, end - begin));
    if (end == std::string_view::npos) return lines;
    begin = end + 1;
  }
}

HintEnd block_end(std::string_view text, const CursorPlace& place) {
  const bool body = place.wanted == WantedText::kBody;
  bool after_blank = false;
  std::size_t kept = std::min(text.find('\n'), text.size());
  for (std::size_t begin = kept; begin < text.size();) {
    ++begin;  // behind the line end
    const std::size_t end = text.find('\n', begin);
    const bool whole = end != std::string_view::npos;
    const std::string_view line = text.substr(begin, end - begin);
    const std::size_t indent = indent_of(line);
    const std::size_t line_end = std::min(end, text.size());
    if (trimmed(line).empty()) {
      after_blank = true;
    } else if (indent < place.indent || (body && indent == place.indent && !only_closes(line)) ||
               (!body && indent == place.indent && after_blank)) {
      return {kept, true};
    } else if (indent == place.indent && only_closes(line)) {
      return {line_end, whole};
    } else {
      after_blank = false;
    }
    if (!trimmed(line).empty()) kept = line_end;
    begin = line_end;
  }
  return {text.size(), false};
}

/// Without control characters and bytes that made no character: a text that has them is cut there.
std::string_view plain_beginning(std::string_view text) {
  const auto odd = std::ranges::find_if(
      text, [](unsigned char c) { return (c < 0x20 && c != '\n' && c != '\t') || c == 0x7F; });
  text = text.substr(0, static_cast<std::size_t>(odd - text.begin()));
  return text.substr(0, text.find("\xEF\xBF\xBD"));  // U+FFFD
}

/// The line with `columns` of indentation, by tabs or by spaces.
std::string indented(std::string_view line, std::size_t columns, bool tabs) {
  const std::string_view rest = line.substr(std::min(line.find_first_not_of(" \t"), line.size()));
  if (rest.empty()) return {};
  const std::size_t n_tabs = tabs ? columns / cache::kTabColumns : 0;
  return std::string(n_tabs, '\t') + std::string(columns - n_tabs * cache::kTabColumns, ' ').append(rest);
}

/// The buffer's own indentation: what is typed of it at the cursor counts, and tabs stay tabs.
std::string in_buffers_indentation(std::string_view text, const EditBuffer& buffer) {
  const std::vector<std::string_view> lines = lines_of(text);
  const std::string_view typed = buffer.line_before();
  const bool at_indentation = !typed.empty() && trimmed(typed).empty();
  const std::string_view like = at_indentation ? typed : buffer.line_above();
  const bool tabs = like.starts_with('\t'), spaces = like.starts_with(' ');
  std::string_view first = lines.front();
  std::size_t excess = 0;
  if (at_indentation) {
    excess = indent_of(first);
    first.remove_prefix(std::min(first.find_first_not_of(" \t"), first.size()));
  }
  std::string result(first);
  for (std::size_t i = 1; i < lines.size(); ++i) {
    const std::size_t columns = indent_of(lines[i]);
    const bool keep =
        excess == 0 && !(tabs ? lines[i].starts_with(' ') : spaces && lines[i].starts_with('\t'));
    result += '\n';
    result += keep ? std::string(lines[i]) : indented(lines[i], columns - std::min(columns, excess), tabs);
  }
  return result;
}

/// The first closing bracket that nothing in the text opens.
std::size_t unmatched_closer(std::string_view text) {
  std::size_t open = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (std::string_view("([{").contains(text[i])) ++open;
    if (kClosers.contains(text[i]) && open-- == 0) return i;
  }
  return std::string_view::npos;
}

/// The first such quote that is not escaped.
std::size_t plain_quote(std::string_view text, char quote) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (text[i] == quote) {
      return i;
    }
  }
  return std::string_view::npos;
}

/// Takes off what stands behind the cursor in its line already.
std::string_view without_rest_of_line(std::string_view text, std::string_view rest) {
  rest = trimmed(rest);
  if (rest.empty()) return text;
  if (kClosers.contains(rest.front())) {
    const std::size_t closer = unmatched_closer(text);
    return closer != std::string_view::npos && text[closer] == rest.front() ? text.substr(0, closer) : text;
  }
  if (std::string_view("\"'`").contains(rest.front())) return text.substr(0, plain_quote(text, rest.front()));
  const std::string_view end = without_end_blanks(text);
  if (end.ends_with(rest)) return end.substr(0, end.size() - rest.size());
  constexpr std::size_t kTelling = 3;
  return rest.size() >= kTelling ? text.substr(0, text.find(rest)) : text;
}

/// Takes off the lines from the one on that stands below the cursor already.
std::string_view without_line_below(std::string_view text, const EditBuffer& buffer) {
  const std::string_view below = without_end_blanks(buffer.line_below());
  if (below.empty()) return text;
  const std::vector<std::string_view> lines = lines_of(text);
  const std::string first = std::string(buffer.line_before()).append(lines.front());
  if (trimmed(first) == trimmed(below) && trimmed(buffer.line_before()).empty()) return {};
  std::size_t at = lines.front().size();
  for (std::size_t i = 1; i < lines.size(); ++i) {
    if (without_end_blanks(lines[i]) == below) return text.substr(0, at);
    at += 1 + lines[i].size();
  }
  return text;
}

/// Cuts where one line comes again and again.
std::string_view without_repetition(std::string_view text) {
  const std::vector<std::string_view> lines = lines_of(text);
  std::size_t equal = 1, at = lines.front().size(), first_end = at;
  for (std::size_t i = 1; i < lines.size(); ++i) {
    const bool same = trimmed(lines[i]) == trimmed(lines[i - 1]) && has_word(lines[i]);
    equal = same ? equal + 1 : 1;
    at += 1 + lines[i].size();
    if (!same) first_end = at;
    if (equal > kMostEqualLines) return text.substr(0, first_end);
  }
  return text;
}

}  // namespace

HintEnd find_hint_end(std::string_view text, const CursorPlace& place) {
  if (place.wanted != WantedText::kLine) return block_end(text, place);
  const std::size_t end = text.find('\n');
  return end == std::string_view::npos ? HintEnd{text.size(), false} : HintEnd{end, true};
}

std::string clean_hint(std::string_view text, const EditBuffer& buffer, const CursorPlace& place) {
  text = plain_beginning(text);
  const std::string own = in_buffers_indentation(text.substr(0, find_hint_end(text, place).length), buffer);
  const std::string_view rest = buffer.line_after();
  const std::string_view cut = without_rest_of_line(own, rest);
  std::string_view hint = without_repetition(without_line_below(cut, buffer));
  if (trimmed(without_end_blanks(hint)).empty()) return {};
  // Before a bracket in a line of its own, the line end in front of it stays.
  const bool keep_end = cut.size() < own.size() && hint.size() == cut.size() && hint.contains('\n');
  if (!keep_end) hint = without_end_blanks(hint);
  const std::string first = std::string(buffer.line_before()).append(lines_of(hint).front());
  const bool repeats_line =
      has_word(first) && trimmed(first) == trimmed(buffer.line_above()) && !hint.contains('\n');
  return repeats_line ? std::string() : std::string(hint);
}

}  // namespace kvboost::daemon
