// SPDX-License-Identifier: Apache-2.0
#include "daemon/prompt/span_choice.h"

#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "base/text.h"
#include "daemon/prompt/file_ranking.h"
#include "daemon/prompt/question.h"

namespace kvboost::daemon {
namespace {

// A repository of so few files is read whole when the question is about the whole.
constexpr std::size_t kFewFiles = 12;
constexpr std::size_t kRankedSpans = 1'000;
constexpr std::size_t kEverySpan = std::numeric_limits<std::size_t>::max();
// A span's own words count more than its file's.
constexpr double kSpanShare = 0.7;
constexpr std::size_t kMostSpans = 16;
// A file of so few chunks is taken whole, once something of it is chosen.
constexpr std::size_t kSmallFile = 3;
constexpr std::size_t kMostNamedFiles = 4;
constexpr std::size_t kMostLeftOut = 8;

// Root files that say how a project is built, the most telling first.
constexpr std::string_view kBuildFiles[] = {
    "package.json", "Cargo.toml",    "pyproject.toml",  "CMakeLists.txt", "go.mod",
    "pom.xml",      "build.gradle",  "setup.py",        "meson.build",    "Makefile",
    "configure.ac", "composer.json", "build.gradle.kts"};

struct Candidate {
  std::string path;
  std::size_t begin = 0;
  std::size_t end = 0;
  double score = 0;  // 1: the best one
};

// The README that lies as high as any of the files; Markdown before others.
std::string find_readme(const std::vector<std::string>& paths) {
  const auto depth = [](const std::string& path) { return std::ranges::count(path, '/'); };
  const auto highest = std::ranges::min_element(paths, {}, depth);
  std::string found;
  for (const std::string& path : paths) {
    const std::string name = ascii_lower(path);
    if (!name.substr(name.rfind('/') + 1).starts_with("readme") || depth(path) > depth(*highest)) continue;
    if (found.empty() || (name.ends_with(".md") && !ascii_lower(found).ends_with(".md"))) found = path;
  }
  return found;
}

// Files that a name in the question means: the whole path or its last parts.
std::vector<std::string> files_named(const std::vector<std::string>& paths,
                                     const std::vector<std::string>& names) {
  std::vector<std::string> found;
  for (const std::string& name : names) {
    std::vector<std::string> fitting;
    for (const std::string& path : paths) {
      if (path == name || path.ends_with("/" + name)) fitting.push_back(path);
    }
    // "index.js" can be a hundred files: then the name's words in the ranking have to do.
    if (fitting.size() > kMostNamedFiles) continue;
    for (std::string& path : fitting) {
      if (std::ranges::find(found, path) == found.end()) found.push_back(std::move(path));
    }
  }
  return found;
}

std::vector<Candidate> rank(const Repository& repository, const std::vector<std::string>& paths,
                            bool all_paths, const std::string& query) {
  // Best first. Those of a few files can stand behind any number of others.
  std::vector<RankedSpan> spans = repository.rank_spans(query, all_paths ? kRankedSpans : kEverySpan);
  std::erase_if(spans, [&](const RankedSpan& span) { return !std::ranges::binary_search(paths, span.path); });
  std::map<std::string_view, double> of_file;
  const std::vector<RankedFile> files = rank_files(spans);
  for (const RankedFile& file : files) of_file[file.path] = file.score / files.front().score;
  std::vector<Candidate> candidates;
  double best = 0;
  for (const RankedSpan& span : spans) {
    const double score =
        kSpanShare * span.score / spans.front().score + (1 - kSpanShare) * of_file[span.path];
    candidates.push_back({span.path, span.begin, span.end, score});
    best = std::max(best, score);
  }
  for (Candidate& candidate : candidates) candidate.score /= best;
  // By path and place among equals: ids in the index depend on the order in which files came into it.
  std::ranges::sort(candidates, [](const Candidate& a, const Candidate& b) {
    return std::tie(b.score, a.path, a.begin) < std::tie(a.score, b.path, b.begin);
  });
  return candidates;
}

class Chooser {
 public:
  /// Chooses from `paths`; `all_paths` says that these are all files of the repository.
  Chooser(const Repository& repository, const std::vector<std::string>& paths, bool all_paths,
          FileParts& files, const std::stop_token& stop)
      : repository_(repository),
        paths_(paths),
        all_paths_(all_paths),
        files_(files),
        stop_(stop),
        budget_(files.left()),
        taken_before_(files.taken().size()) {}

  Result<ChosenSpans> run(std::string_view text) {
    const Question question = read_question(text);
    readme_ = find_readme(paths_);
    for (const std::string& path : files_named(paths_, question.names)) take_named(path);
    const std::vector<Candidate> candidates = rank(repository_, paths_, all_paths_, question.query);
    const bool overview =
        question.overview || asks_what_it_is(question.query) || (candidates.empty() && took_nothing());
    if (!readme_.empty()) take_beginning(readme_, overview ? budget_ * 3 / 4 : budget_ / 8);
    if (overview) take_build_file();
    // Words like "project" hit build files; a README says more.
    const std::size_t most = overview && !readme_.empty() ? 0 : kMostSpans;
    for (const Candidate& candidate : candidates) {
      if (stop_.stop_requested()) return fail(ErrorCode::kCancelled, "cancelled while choosing files");
      if (candidate.score < kScoreFloor || chosen_ >= most) break;
      take_ranked(candidate);
    }
    if (overview && paths_.size() <= kFewFiles) take_all();
    if (!all_paths_ && took_nothing()) take_beginnings();
    tell_unfit();
    return ChosenSpans{files_.parts(order()), std::move(left_out_)};
  }

 private:
  [[nodiscard]] bool took_nothing() const { return files_.taken().size() == taken_before_; }

  // "What is kvboost?", asked in a folder of that name.
  [[nodiscard]] bool asks_what_it_is(std::string_view query) const {
    return ascii_lower(query) == ascii_lower(repository_.root().filename().string());
  }

  // Of a handful of files, a question about the whole is a question about each.
  void take_all() {
    for (const std::string& path : paths_) {
      if (!files_.chunks(path)) continue;
      if (const auto all = files_.all_of(path); !files_.take(path, all, 1)) {
        leave_out(path, std::to_string(files_.cost(path, all)) + " tokens, of which " +
                            std::to_string(files_.left()) + " fit");
      }
    }
  }

  // Of files that were asked for, although nothing points at one of them.
  void take_beginnings() {
    for (const std::string& path : paths_) {
      if (files_.left() < budget_ / 4 || stop_.stop_requested()) return;
      take_beginning(path, budget_ / 4);
    }
  }

  void take_named(const std::string& path) {
    if (!files_.chunks(path)) return leave_out(path, files_.chunks(path).error().message);
    const auto all = files_.all_of(path);
    if (files_.cost(path, all) <= budget_ * 3 / 4 && files_.take(path, all, 1)) return;
    take_beginning(path, budget_ / 2);
    leave_out(path, "named in the question, but only its beginning fits (" +
                        std::to_string(files_.cost(path, all)) + " tokens more)");
  }

  // Chunks from the first on, as many as fit into `tokens`.
  void take_beginning(const std::string& path, std::size_t tokens) {
    const auto& chunks = files_.chunks(path);
    if (!chunks) return;
    for (std::size_t i = 0; i < (*chunks)->size(); ++i) {
      const std::size_t cost = files_.cost(path, {i});
      if (cost > tokens || !files_.take(path, {i}, 1)) return;
      tokens -= cost;
    }
  }

  void take_build_file() {
    for (const std::string_view name : kBuildFiles) {
      if (std::ranges::binary_search(paths_, name)) return take_beginning(std::string(name), budget_ / 8);
    }
  }

  void take_ranked(const Candidate& candidate) {
    const auto& chunks = files_.chunks(candidate.path);
    if (!chunks) return;  // gone since the refresh
    const auto selection = files_.holding(candidate.path, candidate.begin, candidate.end);
    if (selection.empty() || files_.cost(candidate.path, selection) == 0) return;
    const bool small = (*chunks)->size() <= kSmallFile;
    if ((small && files_.take(candidate.path, files_.all_of(candidate.path), candidate.score)) ||
        files_.take(candidate.path, selection, candidate.score)) {
      ++chosen_;
      return;
    }
    if (!unfit_.contains(candidate.path)) unfit_order_.push_back(candidate.path);
    unfit_[candidate.path].insert(selection.begin(), selection.end());
  }

  // What of the ranked spans did not fit, each run of lines once; some of it may have come in with others.
  void tell_unfit() {
    for (const std::string& path : unfit_order_) {
      const EncodedFile& file = **files_.chunks(path);
      FileParts::Selection left;
      for (const std::size_t i : unfit_[path]) {
        if (files_.cost(path, {i}) > 0) left.insert(i);
      }
      while (!left.empty()) {
        FileParts::Selection run{left.extract(left.begin()).value()};
        while (left.contains(*run.rbegin() + 1)) run.insert(left.extract(*run.rbegin() + 1).value());
        leave_out(path, "lines " + std::to_string(file[*run.begin()].span.first_line) + " to " +
                            std::to_string(file[*run.rbegin()].span.last_line) + " did not fit (" +
                            std::to_string(files_.cost(path, run)) + " tokens)");
      }
    }
  }

  void leave_out(const std::string& path, std::string reason) {
    if (left_out_.size() < kMostLeftOut) left_out_.push_back({path, std::move(reason)});
  }

  [[nodiscard]] std::vector<std::string> order() const {
    std::vector<std::string> paths(files_.taken().begin() + static_cast<std::ptrdiff_t>(taken_before_),
                                   files_.taken().end());
    std::ranges::sort(paths, [&](const std::string& a, const std::string& b) {
      return std::pair(a != readme_, a) < std::pair(b != readme_, b);
    });
    return paths;
  }

  const Repository& repository_;
  const std::vector<std::string>& paths_;
  const bool all_paths_;
  FileParts& files_;
  const std::stop_token& stop_;
  const std::size_t budget_;
  const std::size_t taken_before_;  // of files_.taken(): not ours
  std::string readme_;
  std::size_t chosen_ = 0;
  std::map<std::string, FileParts::Selection> unfit_;
  std::vector<std::string> unfit_order_;
  std::vector<LeftOut> left_out_;
};

}  // namespace

Result<ChosenSpans> choose_spans(const Repository& repository, std::string_view question, FileParts& files,
                                 const std::stop_token& stop) {
  const std::vector<std::string> paths = repository.files();
  return Chooser(repository, paths, true, files, stop).run(question);
}

Result<ChosenSpans> choose_spans_among(const std::vector<std::string>& paths, const Repository& repository,
                                       std::string_view question, FileParts& files,
                                       const std::stop_token& stop) {
  return Chooser(repository, paths, false, files, stop).run(question);
}

}  // namespace kvboost::daemon
