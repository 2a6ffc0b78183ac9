// SPDX-License-Identifier: Apache-2.0
#include "bench/bugs_command.h"

#include <fstream>
#include <iostream>

#include "bench/bug_choice.h"
#include "bench/bug_mining.h"

namespace kvboost::bench {

void BugsCommand::add_options(CLI::App& command) {
  command.add_option("--set", set, "Reports as JSON Lines (bench/README.md tells the forms)")
      ->type_name("FILE")
      ->check(CLI::ExistingFile);
  command.add_option("--mine", mine, "A git repository: its newest fixes are the reports")
      ->type_name("FOLDER")
      ->check(CLI::ExistingDirectory)
      ->excludes("--set");
  command.add_option("--trees", bench.trees, "Folder of the set's trees or repositories")
      ->type_name("FOLDER")
      ->check(CLI::ExistingDirectory);
  command.add_option("--task", task, "rank: all files of the tree; choice: which of four files was changed")
      ->type_name("rank|choice")
      ->check(CLI::IsMember({"rank", "choice"}))
      ->capture_default_str();
  command
      .add_option(
          "--policy", policies,
          "Of choice: exact (the files were asked about before, in this order), or how blocks that were "
          "read ahead are repaired: auto (by a trial of the model), none, seam:TOKENS, guided:SHARE, several "
          "joined by +")
      ->delimiter(',')
      ->capture_default_str();
  command.add_option("--file-tokens", bench.file_tokens, "Of choice: tokens of each of the four files")
      ->check(CLI::Range(100, 1500))
      ->capture_default_str();
  command.add_option("--limit", limit,
                     "So many reports, chosen by the seed; of a mined repository the newest (0: all)");
  command.add_option("--seed", bench.seed, "Of the choice of reports and of the intervals")
      ->capture_default_str();
  command.add_option("--read-files", bench.read_files, "Files of a report that the model reads")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  command.add_flag("--words", bench.words_only, "Without the model");
  command.add_flag("!--once", bench.warm, "Do not read everything a second time, for the time it takes then");
  command.add_flag("--from-text", bench.from_text,
                   "Once more without stored blocks, for the time that the model takes then");
  command
      .add_option("--progress", bench.progress, "File that keeps what is done: the next run goes on there")
      ->type_name("FILE");
  command.add_option("--plot", plot, "File for an SVG")->type_name("FILE");
  command.add_flag("--json", json, "One JSON object a line instead of a table");
}

Result<BugSet> BugsCommand::read_set() const {
  if (!mine.empty()) return mine_bug_set(mine, limit);
  if (set.empty()) {
    return fail(ErrorCode::kInvalidArgument, "there are no reports",
                "name a file with --set, or a repository with --mine");
  }
  auto cases = read_bug_set(set);
  if (cases) shuffle_cases(*cases, bench.seed, limit);
  return cases;
}

Result<void> BugsCommand::run() {
  if (bench.trees.empty() && !set.empty()) bench.trees = set.parent_path() / "trees";
  const auto cases = read_set();
  if (!cases) return fail(cases.error());
  return task == "rank" ? rank(*cases) : choose(*cases);
}

Result<void> BugsCommand::rank(const BugSet& cases) const {
  const auto rankings = run_bug_rank(bench, cases);
  if (!rankings) return fail(rankings.error());
  const auto figures = rank_figures(*rankings, bench.seed);
  if (json) {
    for (const RankFigures& f : figures) print_rank_json(std::cout, f);
  } else {
    print_rank_table(std::cout, figures);
  }
  if (!bench.words_only && !json) {
    const Estimate gain = fused_gain(*rankings, bench.seed);
    std::cout << "fused minus words, reciprocal rank: " << gain.mean << " (" << gain.low << " to "
              << gain.high << "); weight of the model by all reports: " << fit_weight(*rankings) << '\n';
  }
  if (plot.empty()) return {};
  std::ofstream picture(plot);
  picture << rank_picture(figures);
  picture.close();
  return picture ? Result<void>() : fail(ErrorCode::kIo, "cannot write " + plot.string());
}

Result<void> BugsCommand::choose(const BugSet& cases) const {
  const auto choices = run_bug_choice(bench, cases, policies);
  if (!choices) return fail(choices.error());
  const auto figures = choice_figures(*choices, bench.seed);
  if (!json) print_choice_table(std::cout, figures);
  for (const ChoiceFigures& f : figures) {
    if (json) print_choice_json(std::cout, f);
  }
  return {};
}

}  // namespace kvboost::bench
