// SPDX-License-Identifier: Apache-2.0
#include "daemon/prompt/file_ranking.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <tuple>
#include <unordered_map>

namespace kvboost::daemon {
namespace {

// A file's score is the sum of its spans', each next one counting so much of the one before. What this gives
// by itself, and the other shares that were tried: docs/locate.md.
constexpr double kNextSpan = 0.6;

}  // namespace

std::vector<RankedFile> rank_files(std::span<const RankedSpan> spans, const FileFilter& wanted) {
  struct Sum {
    std::size_t file = 0;
    double next = 1;
  };
  std::vector<RankedFile> files;
  std::unordered_map<std::string, Sum> sums;
  for (const RankedSpan& span : spans) {
    const auto known = sums.find(span.path);
    if (known == sums.end() && wanted && !wanted(span.path)) continue;
    Sum& sum = known == sums.end() ? sums[span.path] : known->second;
    if (known == sums.end()) {
      sum.file = files.size();
      files.push_back({span.path, 0, {}});
    }
    files[sum.file].score += sum.next * span.score;
    files[sum.file].spans.push_back(span);
    sum.next *= kNextSpan;
  }
  std::ranges::sort(files, [](const RankedFile& a, const RankedFile& b) {
    return std::tie(b.score, a.path) < std::tie(a.score, b.path);
  });
  return files;
}

std::vector<std::size_t> best_chunks(const EncodedFile& file, std::span<const RankedSpan> spans,
                                     std::size_t most_tokens) {
  std::vector<double> scores(file.size());
  for (const RankedSpan& span : spans) {
    for (std::size_t i = 0; i < file.size(); ++i) {
      const std::size_t begin = std::max(file[i].span.begin, span.begin);
      const std::size_t end = std::min(file[i].span.end, span.end);
      if (begin >= end) continue;
      scores[i] += span.score * static_cast<double>(end - begin) / static_cast<double>(span.end - span.begin);
    }
  }
  std::vector<std::size_t> order(file.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, std::greater(), [&](std::size_t i) { return scores[i]; });
  std::vector<std::size_t> chosen;
  std::size_t tokens = 0;
  for (const std::size_t i : order) {
    const std::size_t size = file[i].tokens.size();
    if (size == 0 || tokens + size > most_tokens) continue;
    if (!chosen.empty() && scores[i] <= 0) break;
    tokens += size;
    chosen.push_back(i);
  }
  std::ranges::sort(chosen);
  return chosen;
}

std::vector<std::size_t> rank_chunks(std::string_view text, const EncodedFile& file, std::string_view query) {
  cache::Bm25Index index;
  for (std::size_t i = 0; i < file.size(); ++i) {
    const cache::Chunk& span = file[i].span;
    if (span.end > text.size()) break;  // it changed since it was cut
    index.add(static_cast<cache::DocumentId>(i), "", text.substr(span.begin, span.end - span.begin));
  }
  std::vector<std::size_t> ranked;
  const auto scored = index.query(query, file.size());
  for (const cache::ScoredDocument& chunk : scored) {
    if (chunk.score >= kScoreFloor * scored.front().score) ranked.push_back(chunk.id);
  }
  return ranked;
}

}  // namespace kvboost::daemon
