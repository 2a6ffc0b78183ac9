// SPDX-License-Identifier: Apache-2.0
#include "daemon/pipeline/words_ranker.h"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace kvboost::daemon {
namespace {

constexpr std::size_t kRankedSpans = 4'000;
// What a file gets for being named, of the best score by words.
constexpr double kNamed = 0.5;
// "index.js" alone can be a hundred files: then it says nothing about any of them.
constexpr std::size_t kMostNamesakes = 8;

std::string_view last_part(std::string_view path) {
  return path.substr(path.rfind('/') + 1);  // npos + 1 is 0
}

/// Parts, from the last one on, that two paths share.
std::size_t shared_parts(std::string_view a, std::string_view b) {
  std::size_t shared = 0;
  while (!a.empty() && !b.empty() && last_part(a) == last_part(b)) {
    ++shared;
    a = a.substr(0, a.size() - std::min(a.size(), last_part(a).size() + 1));
    b = b.substr(0, b.size() - std::min(b.size(), last_part(b).size() + 1));
  }
  return shared;
}

std::size_t parts(std::string_view path) {
  return static_cast<std::size_t>(std::ranges::count(path, '/')) + 1;
}

struct Named {
  double weight = 0;  // 1: surely this file
  std::int32_t line = 0;
};

/// The files that the report names. Of files with the same name, those that share most of their path with
/// what stands in the report.
std::unordered_map<std::string, Named> named_files(const RankJob& job) {
  std::unordered_map<std::string_view, std::vector<const NamedPlace*>> by_name;
  for (const NamedPlace& place : job.report.places) by_name[last_part(place.path)].push_back(&place);
  std::unordered_map<const NamedPlace*, std::vector<std::pair<std::size_t, std::string>>> fitting;
  for (std::string& path : job.repository.files()) {
    const auto found = by_name.find(last_part(path));
    if (found == by_name.end() || (job.wanted && !job.wanted(path))) continue;
    for (const NamedPlace* place : found->second) {
      fitting[place].emplace_back(shared_parts(path, place->path), path);
    }
  }
  std::unordered_map<std::string, Named> named;
  for (auto& [place, files] : fitting) {
    const std::size_t most = std::ranges::max(files).first;
    std::erase_if(files, [&](const auto& file) { return file.first < most; });
    if (files.size() > kMostNamesakes) continue;
    for (const auto& [shared, path] : files) {
      // A whole path, or one whose beginning is the machine's that it was reported from.
      const bool whole = shared == std::min(parts(path), parts(place->path));
      const double weight = (whole ? 1.0 : 0.5) / static_cast<double>(files.size());
      Named& entry = named[path];
      if (weight > entry.weight || (weight == entry.weight && entry.line == 0)) {
        entry = {weight, place->line};
      }
    }
  }
  return named;
}

}  // namespace

Result<void> WordsRanker::rank(const RankJob& job, std::vector<Suspect>& suspects) {
  std::vector<RankedFile> files =
      rank_files(job.repository.rank_spans(job.report.query, kRankedSpans), job.wanted);
  auto named = named_files(job);
  const double best = files.empty() ? 1 : files.front().score;
  suspects.clear();
  const auto add = [&](std::string path, std::vector<RankedSpan> spans, double words) {
    const auto found = named.find(path);
    const Named of_name = found == named.end() ? Named{} : found->second;
    if (found != named.end()) named.erase(found);
    Suspect& suspect = suspects.emplace_back();
    suspect.path = std::move(path);
    suspect.spans = std::move(spans);
    suspect.named_line = of_name.line;
    suspect.score = words / best + kNamed * of_name.weight;
    suspect.scores.emplace(kName, suspect.score);
  };
  for (RankedFile& file : files) add(std::move(file.path), std::move(file.spans), file.score);
  for (const auto& path : std::vector(named.begin(), named.end())) add(path.first, {}, 0);
  std::ranges::sort(suspects, [](const Suspect& a, const Suspect& b) {
    return std::tie(b.score, a.path) < std::tie(a.score, b.path);
  });
  found_ = suspects.size();
  if (suspects.size() > most_)
    suspects.erase(suspects.begin() + static_cast<std::ptrdiff_t>(most_), suspects.end());
  return {};
}

}  // namespace kvboost::daemon
