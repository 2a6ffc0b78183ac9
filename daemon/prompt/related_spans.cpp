// SPDX-License-Identifier: Apache-2.0
#include "daemon/prompt/related_spans.h"

#include <algorithm>
#include <cctype>
#include <set>
#include <tuple>
#include <utility>

namespace kvboost::daemon {
namespace {

constexpr std::size_t kRankedSpans = 200;
constexpr std::size_t kMostSpans = 12;
constexpr double kFloor = 0.3;           // of the best one's score
constexpr double kImported = 1.5;        // a span of an imported file counts as so many
constexpr double kImportsWeight = 0.5;   // of a word of the import lines
constexpr std::size_t kLinesAbove = 25;  // around the cursor, whose words count
constexpr std::size_t kLinesBelow = 8;
constexpr std::size_t kImportLines = 200;  // of the file's beginning, where imports stand

constexpr std::string_view kImportWords[] = {"#include", "import", "from",    "use",   "using",
                                             "require",  "mod",    "package", "const", "include"};

std::string_view last_lines(std::string_view text, std::size_t n) {
  std::size_t begin = text.size();
  for (; n > 0 && begin > 0; --n) {
    const std::size_t end = text.rfind('\n', begin - 1);
    if (end == std::string_view::npos) return text;
    begin = end;
  }
  return text.substr(std::min(begin, text.size()));
}

std::string_view first_lines(std::string_view text, std::size_t n) {
  std::size_t end = 0;
  for (; n > 0 && end != std::string_view::npos; --n) end = text.find('\n', end + 1);
  return text.substr(0, end);
}

bool imports(std::string_view line) {
  line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
  const bool begins = std::ranges::any_of(kImportWords, [&](std::string_view word) {
    return line.starts_with(word) && line.size() > word.size() &&
           std::isalnum(static_cast<unsigned char>(line[word.size()])) == 0;
  });
  return begins && (!line.starts_with("const") || line.contains("require("));
}

/// "a/b.h" → b, "../x/y" → y, "a.b.c" and "a::b::c" → a, b, c.
void add_names(std::string_view line, std::vector<std::string>& names) {
  std::size_t at = 0;
  while (at < line.size()) {
    const auto is_name = [](unsigned char c) {
      return std::isalnum(c) != 0 || c == '_' || c == '-' || c >= 0x80;
    };
    if (!is_name(static_cast<unsigned char>(line[at]))) {
      ++at;
      continue;
    }
    std::size_t end = at;
    while (end < line.size() && is_name(static_cast<unsigned char>(line[end]))) ++end;
    const bool is_folder = end < line.size() && line[end] == '/';
    const bool is_extension =
        at > 0 && line[at - 1] == '.' && end < line.size() && std::string_view("\"'>").contains(line[end]);
    if (!is_folder && !is_extension) names.emplace_back(line.substr(at, end - at));
    at = end;
  }
}

std::string_view stem_of(std::string_view path) {
  path.remove_prefix(path.rfind('/') + 1);
  return path.substr(0, path.find('.', 1));
}

class Chooser {
 public:
  Chooser(const Repository& repository, const std::string& path, FileParts& files)
      : repository_(repository), own_(path), files_(files), budget_(files.left()) {}

  /// The chunk at a place; up to half of the room.
  void take_visited(const VisitedPlace& place) {
    if (place.path == own_ || !repository_.has(place.path)) return;
    const auto& chunks = files_.chunks(place.path);
    if (!chunks) return;
    for (std::size_t i = 0; i < (*chunks)->size(); ++i) {
      if ((**chunks)[i].span.last_line < place.line) continue;
      if (budget_ - files_.left() + files_.cost(place.path, {i}) <= budget_ / 2)
        files_.take(place.path, {i}, 1);
      return;
    }
  }

  void take_ranked(std::vector<RankedSpan> spans, const std::vector<std::string>& imported,
                   const std::stop_token& stop) {
    const std::set<std::string_view> stems(imported.begin(), imported.end());
    std::erase_if(spans, [&](const RankedSpan& span) { return span.path == own_; });
    for (RankedSpan& span : spans) {
      if (stems.contains(stem_of(span.path))) span.score *= kImported;
    }
    std::ranges::sort(spans, [](const RankedSpan& a, const RankedSpan& b) {
      return std::tie(b.score, a.path, a.begin) < std::tie(a.score, b.path, b.begin);
    });
    std::size_t taken = 0;
    for (const RankedSpan& span : spans) {
      if (taken == kMostSpans || span.score < kFloor * spans.front().score || stop.stop_requested()) return;
      if (!files_.chunks(span.path)) continue;  // gone since the refresh
      const auto selection = files_.holding(span.path, span.begin, span.end);
      if (!selection.empty() && files_.take(span.path, selection, span.score / spans.front().score)) ++taken;
    }
  }

 private:
  const Repository& repository_;
  const std::string& own_;
  FileParts& files_;
  const std::size_t budget_;
};

}  // namespace

std::vector<std::string> imported_names(std::string_view text) {
  std::vector<std::string> names;
  text = first_lines(text, kImportLines);
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    if (imports(line)) add_names(line, names);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return names;
}

std::vector<PlanPart> related_parts(const Repository& repository, const EditBuffer& buffer,
                                    const std::string& path, std::span<const VisitedPlace> visited,
                                    FileParts& files, const std::stop_token& stop) {
  Chooser chooser(repository, path, files);
  for (const VisitedPlace& place : visited) chooser.take_visited(place);
  const std::vector<std::string> imported = imported_names(buffer.text());
  std::string import_words;
  for (const std::string& name : imported) import_words += name + ' ';
  const cache::QueryPart query[] = {{std::string(last_lines(buffer.before(), kLinesAbove))},
                                    {std::string(first_lines(buffer.after(), kLinesBelow))},
                                    {std::move(import_words), kImportsWeight}};
  chooser.take_ranked(repository.rank_spans(query, kRankedSpans), imported, stop);
  std::vector<std::string> order = files.taken();
  std::ranges::sort(order);
  return files.parts(order);
}

}  // namespace kvboost::daemon
