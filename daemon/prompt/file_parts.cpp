// SPDX-License-Identifier: Apache-2.0
#include "daemon/prompt/file_parts.h"

#include <algorithm>
#include <utility>

namespace kvboost::daemon {
PlanPart file_part(const std::string& path, const EncodedChunk& chunk) {
  return {.kind = PartKind::kFile,
          .path = path,
          .first_line = chunk.span.first_line,
          .last_line = chunk.span.last_line,
          .tokens = chunk.tokens};
}

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
  File read{.chunks = nullptr};
  if (const auto text = repository_.read(path)) {
    read.chunks = repository_.chunks().encode(tokenizer_, path, *text);
    read.opening = chat_.file_opening(path);
  } else {
    read.chunks = fail(text.error());
  }
  return files_.emplace(path, std::move(read)).first->second;
}

const Result<std::shared_ptr<const EncodedFile>>& FileParts::chunks(const std::string& path) {
  return file(path).chunks;
}

FileParts::Selection FileParts::all_of(const std::string& path) {
  Selection all;
  for (std::size_t i = 0; i < (*file(path).chunks)->size(); ++i) all.insert(all.end(), i);
  return all;
}

FileParts::Selection FileParts::holding(const std::string& path, std::size_t begin, std::size_t end) {
  Selection selection;
  const EncodedFile& chunks = **file(path).chunks;
  const std::size_t enough = (end - begin) / 3;
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    const cache::Chunk& span = chunks[i].span;
    const std::size_t first = std::max(span.begin, begin), last = std::min(span.end, end);
    if (first < last && (last - first > enough || last - first == span.end - span.begin)) selection.insert(i);
  }
  return selection;
}

std::size_t FileParts::size(const File& file, const Selection& selection) const {
  const EncodedFile& chunks = **file.chunks;
  std::size_t tokens = chunks.empty() ? file.opening.size() : 0;
  for (const std::size_t index : selection) tokens += chunks[index].tokens.size();
  for_each_run(selection, [&](std::size_t, std::size_t end) {
    tokens += file.opening.size() + (chunks[end - 1].ends_line ? 0 : line_end_.size());
  });
  return tokens;
}

std::size_t FileParts::cost(const std::string& path, const Selection& more) {
  const File& wanted = file(path);
  Selection all = wanted.taken;
  all.insert(more.begin(), more.end());
  const std::size_t before = wanted.any_taken ? size(wanted, wanted.taken) : 0;
  return std::max(size(wanted, all), before) - before;  // a chunk that joins two runs may save tokens
}

bool FileParts::take(const std::string& path, const Selection& more, double score) {
  const std::size_t added = cost(path, more);
  if (added > left()) return false;
  File& wanted = file(path);
  wanted.taken.insert(more.begin(), more.end());
  wanted.score = std::max(wanted.score, score);
  if (!std::exchange(wanted.any_taken, true)) taken_.push_back(path);
  used_ += added;
  return true;
}

void FileParts::append_run(std::vector<PlanPart>& parts, const std::string& path, const File& file,
                           std::size_t first, std::size_t end) const {
  const EncodedFile& chunks = **file.chunks;
  parts.push_back({.kind = PartKind::kFile,
                   .path = path,
                   .whole_file = first == 0 && end == chunks.size(),
                   .score = file.score,
                   .tokens = file.opening});
  for (std::size_t i = first; i < end; ++i) parts.push_back(file_part(path, chunks[i]));
  if (first < end && !chunks[end - 1].ends_line) parts.push_back({.tokens = line_end_});
}

std::vector<PlanPart> FileParts::parts(const std::vector<std::string>& order) {
  std::vector<PlanPart> made;
  for (const std::string& path : order) {
    const File& from = file(path);
    if (from.taken.empty()) append_run(made, path, from, 0, 0);
    for_each_run(from.taken,
                 [&](std::size_t first, std::size_t end) { append_run(made, path, from, first, end); });
  }
  return made;
}

}  // namespace kvboost::daemon
