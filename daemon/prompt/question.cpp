// SPDX-License-Identifier: Apache-2.0
#include "daemon/prompt/question.h"

#include <algorithm>
#include <cctype>

#include "base/text.h"

namespace kvboost::daemon {
namespace {

// Words of asking. In code most of them are rare, so that the index would take them for the best ones.
constexpr std::string_view kAskingWords[] = {
    "a",         "about", "an",      "and",     "any",    "are",   "as",       "at",    "be",     "been",
    "briefly",   "but",   "by",      "can",     "code",   "could", "describe", "did",   "do",     "does",
    "done",      "each",  "exactly", "explain", "file",   "files", "find",     "for",   "from",   "function",
    "functions", "give",  "happen",  "happens", "has",    "have",  "here",     "how",   "i",      "if",
    "in",        "into",  "is",      "it",      "its",    "line",  "lines",    "list",  "me",     "mean",
    "means",     "my",    "not",     "of",      "on",     "one",   "or",       "our",   "please", "sentence",
    "sentences", "shall", "short",   "shortly", "should", "show",  "so",       "some",  "tell",   "than",
    "that",      "the",   "their",   "them",    "then",   "there", "these",    "they",  "this",   "those",
    "to",        "us",    "use",     "used",    "uses",   "was",   "we",       "were",  "what",   "when",
    "where",     "which", "who",     "why",     "will",   "with",  "work",     "works", "would",  "you",
    "your"};

// Words of questions about the whole; a question that has no others is one.
constexpr std::string_view kWholeWords[] = {
    "app",       "application", "architecture", "build",      "codebase",  "compile",  "directory",
    "folder",    "folders",     "get",          "goal",       "install",   "intro",    "introduction",
    "language",  "languages",   "layout",       "library",    "licence",   "license",  "main",
    "organised", "organized",   "overview",     "package",    "parts",     "program",  "project",
    "purpose",   "readme",      "repo",         "repository", "run",       "software", "start",
    "started",   "structure",   "structured",   "summarise",  "summarize", "summary",  "tool",
    "written"};

bool is_one_of(const auto& words, std::string_view word) {
  return std::ranges::find(words, word) != std::end(words);
}

// Cuts at white space, quotes and brackets; of the rest, marks at the end of a clause go.
std::vector<std::string_view> terms(std::string_view text) {
  constexpr std::string_view kCuts = " \t\r\n\f\v\"'`()[]{}<>|,;";
  std::vector<std::string_view> all;
  for (std::size_t begin = 0; begin < text.size();) {
    begin = text.find_first_not_of(kCuts, begin);
    if (begin == std::string_view::npos) break;
    const std::size_t end = std::min(text.find_first_of(kCuts, begin), text.size());
    std::string_view term = text.substr(begin, end - begin);
    while (!term.empty() && std::string_view(".:?!…*").find(term.back()) != std::string_view::npos) {
      term.remove_suffix(1);
    }
    if (!term.empty()) all.push_back(term);
    begin = end;
  }
  return all;
}

// "main.cpp:42" or "main.cpp:42:7" without the place.
std::string_view without_place(std::string_view term) {
  const std::size_t colon = term.find(':');
  return colon != std::string_view::npos && colon + 1 < term.size() &&
                 std::isdigit(static_cast<unsigned char>(term[colon + 1])) != 0
             ? term.substr(0, colon)
             : term;
}

bool looks_like_file(std::string_view term) {
  if (is_one_of(std::initializer_list<std::string_view>{"Makefile", "Dockerfile", "README", "LICENSE"},
                term)) {
    return true;
  }
  if (term.find("://") != std::string_view::npos) return false;
  if (term.find('/') != std::string_view::npos) return true;
  const std::size_t dot = term.rfind('.');
  return dot != std::string_view::npos && dot + 1 < term.size() && term.size() - dot <= 12 &&
         std::isalpha(static_cast<unsigned char>(term[dot + 1])) != 0;
}

}  // namespace

Question read_question(std::string_view text) {
  Question question;
  bool only_whole = true;
  for (const std::string_view term : terms(text)) {
    const std::string_view name = without_place(term);
    if (looks_like_file(name)) question.names.emplace_back(name.substr(name.starts_with("./") ? 2 : 0));
    const std::string word = ascii_lower(term);
    if (is_one_of(kAskingWords, word)) continue;
    if (!is_one_of(kWholeWords, word)) only_whole = false;
    question.query += question.query.empty() ? "" : " ";
    question.query += term;
  }
  question.overview = only_whole && question.names.empty();
  return question;
}

}  // namespace kvboost::daemon
