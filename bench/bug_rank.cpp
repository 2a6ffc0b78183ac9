// SPDX-License-Identifier: Apache-2.0
#include "bench/bug_rank.h"

#include <algorithm>
#include <chrono>
#include <iostream>
#include <memory>
#include <optional>
#include <utility>

#include "base/duration.h"
#include "bench/bug_progress.h"
#include "bench/bug_trees.h"
#include "daemon/pipeline/block_cache.h"
#include "daemon/pipeline/model_ranker.h"
#include "daemon/pipeline/words_ranker.h"

namespace kvboost::bench {
namespace {

using Clock = std::chrono::steady_clock;
using daemon::Suspect;

constexpr std::size_t kMostFound = 2'000;
constexpr std::uint64_t kBlockBytes = 2ULL << 30;

bool is_changed(const BugCase& bug, const std::string& path) {
  return std::ranges::find(bug.changed_files, path) != bug.changed_files.end();
}

/// The changed files' ranks by whole files and plain words, from 1 on; 0 for those not found.
std::vector<std::size_t> plain_ranks(const BugTree& tree, const BugCase& bug) {
  std::vector<std::size_t> ranks;
  const auto found = tree.plain.query(bug.report, tree.files.size());
  for (const std::string& path : bug.changed_files) {
    const auto at = std::ranges::find_if(found, [&](const auto& one) { return tree.files[one.id] == path; });
    ranks.push_back(at == found.end() ? 0 : static_cast<std::size_t>(at - found.begin()) + 1);
  }
  return ranks;
}

/// The model as the daemon has it, and a store that begins empty.
class RankingModel {
 public:
  explicit RankingModel(const BugBench& bench)
      : blocks_({.max_memory = kBlockBytes}),
        engine_thread_("bench-engine", 1),
        host_(
            engine_thread_, [path = bench.common.model]() -> Result<std::filesystem::path> { return path; },
            {.model = {}, .compute = bench.common.compute, .threads = bench.common.threads}, {},
            [](const auto&, auto, const auto&) -> Result<Digest> { return sha256("kvboost-bench"); }) {}

  [[nodiscard]] Result<void> load() {
    auto lease = host_.acquire({}, {});
    if (!lease) return fail(lease.error());
    lease_.emplace(std::move(*lease));
    return {};
  }

  /// Adds the model's scores; the time that took.
  [[nodiscard]] Result<double> rank(const daemon::RankJob& job, std::vector<Suspect>& suspects,
                                    std::size_t files, bool reuse = true) {
    daemon::LoadedModel& model = **lease_;
    std::optional<daemon::Reuse> stored;
    if (reuse) stored = daemon::Reuse{&blocks_, model.names->model, model.names->context};
    daemon::ModelRanker ranker(engine_thread_, model, std::move(stored), {.files = files});
    const auto start = Clock::now();
    if (auto ranked = ranker.rank(job, suspects); !ranked) return fail(ranked.error());
    return ms_since(start);
  }

 private:
  daemon::BlockCache blocks_;
  daemon::Scheduler engine_thread_;
  daemon::ModelHost host_;
  std::optional<daemon::ModelHost::Lease> lease_;
};

Result<BugRanking> rank_one(const BugBench& bench, const BugCase& bug, const BugTree& tree,
                            RankingModel* model) {
  BugRanking ranking{.id = bug.id, .kind = bug.kind, .names_file = bug.names_file};
  ranking.n_changed = bug.changed_files.size();
  ranking.plain_ranks = plain_ranks(tree, bug);
  std::vector<Suspect> suspects;
  const auto start = Clock::now();
  const daemon::Report report = daemon::read_report(bug.report);
  const daemon::RankJob job{.repository = *tree.repository, .report = report, .wanted = tree.wanted};
  daemon::WordsRanker words(kMostFound);
  if (auto ranked = words.rank(job, suspects); !ranked) return fail(ranked.error());
  ranking.words_ms = ms_since(start);
  if (model != nullptr) {
    for (double* ms : {&ranking.cold_ms, &ranking.warm_ms}) {
      if (ms == &ranking.warm_ms && !bench.warm) break;
      const auto took = model->rank(job, suspects, bench.read_files);
      if (!took) return fail(took.error());
      *ms = *took;
    }
    if (bench.from_text) {
      std::vector<Suspect> again = suspects;  // the scores that count are those from blocks
      const auto took = model->rank(job, again, bench.read_files, /*reuse=*/false);
      if (!took) return fail(took.error());
      ranking.text_ms = *took;
    }
  }
  for (const Suspect& suspect : suspects)
    ranking.files.push_back({suspect.scores, is_changed(bug, suspect.path)});
  return ranking;
}

std::string settings_of(const BugBench& bench, const BugSet& set) {
  std::string settings = "rank " + set.name + " seed " + std::to_string(bench.seed);
  if (bench.words_only) return settings + " words";
  return settings + " " + bench.common.model.filename().string() + " " + std::to_string(bench.read_files) +
         " files";
}

}  // namespace

Result<std::vector<BugRanking>> run_bug_rank(const BugBench& bench, const BugSet& set) {
  auto done = BugProgress::open(bench.progress, settings_of(bench, set));
  if (!done) return fail(done.error());
  std::unique_ptr<RankingModel> model;
  BugTrees trees(set, bench.trees, bench.scratch);
  std::vector<BugRanking> rankings;
  ProgressLine line(set.cases.size());
  for (const BugCase& bug : set.cases) {
    if (const std::string* kept = done->find(bug.id)) {
      auto ranking = parse_ranking(*kept);
      if (!ranking) return fail(ranking.error());
      rankings.push_back(std::move(*ranking));
      line.skip();
      continue;
    }
    const auto tree = trees.open(bug);
    if (!tree) {
      std::cerr << "kvboost-bench: left out " << bug.id << ": " << tree.error().text() << '\n';
      line.skip();
      continue;
    }
    if (!model && !bench.words_only) {
      model = std::make_unique<RankingModel>(bench);
      if (auto loaded = model->load(); !loaded) return fail(loaded.error());
    }
    auto ranking = rank_one(bench, bug, **tree, model.get());
    if (!ranking) return fail(ranking.error());
    if (auto written = done->keep(bug.id, to_line(*ranking)); !written) return fail(written.error());
    rankings.push_back(std::move(*ranking));
    line.step(bug.id);
  }
  if (rankings.empty()) return fail(ErrorCode::kNotFound, "none of the reports' trees is there");
  return rankings;
}

}  // namespace kvboost::bench
