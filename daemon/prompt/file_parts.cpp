// SPDX-License-Identifier: Apache-2.0
#include "daemon/prompt/file_parts.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace kvboost::daemon {
namespace {

// Calls visit(first, end) for each run of neighbouring indices.
template <class Visit>
void for_each_run(const std::set<std::size_t>& indices, const Visit& visit) {
  for (auto at = indices.begin(); at != indices.end();) {
    const std::size_t first = *at;
    std::size_t end = first;
    while (at != indices.end() && *at == end) {
      ++at;
      ++end;
    }
    visit(first, end);
  }
}

std::set<std::size_t> all_spans(const SourceText& source) {
  std::set<std::size_t> all;
  for (std::size_t i = 0; i < source.spans.size(); ++i) all.insert(all.end(), i);
  return all;
}

bool ends_line(const SourceText& source, std::size_t span) {
  return source.span(span).ends_with('\n');
}

}  // namespace

FileParts::FileParts(Repository& repository, const ChatTemplate& chat, const engine::Tokenizer& tokenizer,
                     std::size_t budget)
    : repository_(repository),
      chat_(chat),
      tokenizer_(tokenizer),
      budget_(budget),
      line_end_(tokenizer.encode("\n")) {}

FileParts::File& FileParts::file(const std::string& path) {
  const auto known = files_.find(path);
  if (known != files_.end()) return known->second;
  File read{.source = repository_.read(path)};
  if (read.source) {
    read.opening = chat_.file_opening(path);
    read.spans.resize(read.source->spans.size());
  }
  return files_.emplace(path, std::move(read)).first->second;
}

const Result<SourceText>& FileParts::source(const std::string& path) {
  return file(path).source;
}

const std::vector<engine::TokenId>& FileParts::span_tokens(File& file, std::size_t index) {
  auto& tokens = file.spans[index];
  if (tokens.empty()) tokens = repository_.tokens().encode(tokenizer_, file.source->span(index));
  return tokens;
}

std::size_t FileParts::cost(File& file, const SpanSet& spans) {
  std::size_t tokens = 0;
  for (const std::size_t index : spans) tokens += span_tokens(file, index).size();
  for_each_run(spans, [&](std::size_t, std::size_t end) {
    tokens += file.opening.size() + (ends_line(*file.source, end - 1) ? 0 : line_end_.size());
  });
  return file.source->spans.empty() ? file.opening.size() : tokens;
}

std::size_t FileParts::cost_of(const std::string& path, const SpanSet& more) {
  File& wanted = file(path);
  SpanSet all = wanted.taken;
  all.insert(more.begin(), more.end());
  const std::size_t before = wanted.any_taken ? cost(wanted, wanted.taken) : 0;
  return std::max(cost(wanted, all), before) - before;  // a span that joins two runs may save tokens
}

std::size_t FileParts::cost_of_file(const std::string& path) {
  return cost_of(path, all_spans(*file(path).source));
}
std::size_t FileParts::cost_of_span(const std::string& path, std::size_t index) {
  return cost_of(path, {index});
}

bool FileParts::take(const std::string& path, const SpanSet& more, double score) {
  const std::size_t added = cost_of(path, more);
  if (added > left()) return false;
  File& wanted = file(path);
  wanted.taken.insert(more.begin(), more.end());
  wanted.score = std::max(wanted.score, score);
  if (!std::exchange(wanted.any_taken, true)) taken_.push_back(path);
  used_ += added;
  return true;
}

bool FileParts::take_file(const std::string& path, double score) {
  return take(path, all_spans(*file(path).source), score);
}

bool FileParts::take_span(const std::string& path, std::size_t index, double score) {
  return take(path, {index}, score);
}

PlanPart FileParts::part(const std::string& path, std::size_t first, std::size_t end) {
  File& from = file(path);
  const SourceText& source = *from.source;
  PlanPart made{.kind = PartKind::kFile,
                .path = path,
                .whole_file = first == 0 && end == source.spans.size(),
                .score = from.score,
                .tokens = from.opening};
  if (first == end) return made;
  made.first_line = source.spans[first].first_line;
  made.last_line = source.spans[end - 1].last_line;
  for (std::size_t i = first; i < end; ++i) {
    const auto& tokens = span_tokens(from, i);
    made.tokens.insert(made.tokens.end(), tokens.begin(), tokens.end());
  }
  if (!ends_line(source, end - 1)) made.tokens.insert(made.tokens.end(), line_end_.begin(), line_end_.end());
  return made;
}

std::vector<PlanPart> FileParts::parts(const std::vector<std::string>& order) {
  std::vector<PlanPart> made;
  for (const std::string& path : order) {
    const File& from = file(path);
    if (from.taken.empty()) made.push_back(part(path, 0, 0));
    for_each_run(from.taken,
                 [&](std::size_t first, std::size_t end) { made.push_back(part(path, first, end)); });
  }
  return made;
}

}  // namespace kvboost::daemon
