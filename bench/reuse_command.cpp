// SPDX-License-Identifier: Apache-2.0
#include "bench/reuse_command.h"

#include <algorithm>
#include <fstream>
#include <iostream>
#include <map>
#include <utility>

#include "bench/reuse_picture.h"

namespace kvboost::bench {
namespace {

const std::map<std::string, cache::Codec> kCodecs = {
    {"bf16", cache::Codec::kBf16}, {"int8", cache::Codec::kInt8}, {"int4", cache::Codec::kInt4}};

}  // namespace

void ReuseCommand::add_options(CLI::App& command) {
  static const std::map<std::string, Tier> kTiers = {
      {"ram", Tier::kRam}, {"disk", Tier::kDisk}, {"cold", Tier::kCold}};
  const auto positive = CLI::Range(1, 1'000'000);
  command.add_option("--repository", bench.repository, "Whose files the prompts are made of")
      ->type_name("FOLDER")
      ->check(CLI::ExistingDirectory)
      ->capture_default_str();
  command.add_option("--dir", bench.directory, "Where to store blocks: on the disk that is to be measured")
      ->capture_default_str();
  command.add_option("--prompts", bench.prompts, "Sets of files, each in an order of its own")
      ->check(positive)
      ->capture_default_str();
  command.add_option("--questions", bench.questions, "Questions to each set of files")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  command.add_option("--files", bench.files, "Files in a prompt")
      ->check(CLI::Range(4, 1000))
      ->capture_default_str();
  command.add_option("--tokens", bench.tokens, "Tokens of a prompt, about")
      ->check(positive)
      ->capture_default_str();
  command.add_flag("--neighbours", bench.neighbours,
                   "Compute blocks behind pieces of files that are in no prompt, as the daemon does once a "
                   "model's trial lets it");
  command.add_option("--tolerance", bench.tolerance, "Divergence that policy auto allows, nats")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command.add_option("--seed", bench.seed, "Of the choice of files, orders and questions")
      ->capture_default_str();
  command.add_option("--greedy", bench.greedy, "Tokens of the answer that are compared; 0: none")
      ->check(CLI::Range(0, 1000))
      ->capture_default_str();
  command
      .add_option("--policies", bench.policies,
                  "auto (by a trial of the model), prefix-only, exact, none, seam:TOKENS, guided:SHARE, "
                  "guided:SHARE:FIRST-END (of which "
                  "layers' attention), blend:SHARE, blend:SHARE:cosine, or several of these joined by +")
      ->delimiter(',')
      ->capture_default_str();
  command.add_option("--codecs", bench.codecs, "How blocks are stored: bf16, int8, int4")
      ->delimiter(',')
      ->type_name("CODECS")
      ->transform(CLI::CheckedTransformer(kCodecs));
  command.add_option("--tiers", bench.tiers, "Where they come from: ram, disk (after a restart), cold")
      ->delimiter(',')
      ->type_name("TIERS")
      ->transform(CLI::CheckedTransformer(kTiers));
  command
      .add_option("--scenarios", scenarios,
                  "Shuffled, same, question, edited, deleted, dropped, restart, noise, or all; "
                  "without this: shuffled, and with --peer all but noise")
      ->delimiter(',')
      ->check(CLI::IsMember(
          {"shuffled", "same", "question", "edited", "deleted", "dropped", "restart", "noise", "all"}));
  command.add_option("--peer", bench.common.peer,
                     "Ask llama.cpp the same: 'python', the path of a Python interpreter that has llama_cpp, "
                     "or a command of your own (bench/reuse_peer.h)");
  command.add_flag("--json", json, "One JSON object a line instead of a table");
  command.add_option("--details", details, "File for one JSON object a prompt and way of reading it")
      ->type_name("FILE");
  command.add_option("--picture", picture, "File for an SVG: time against KL, a point a policy")
      ->type_name("FILE");
}

std::vector<Scenario> ReuseCommand::wanted_scenarios() const {
  std::vector<std::string> names = scenarios;
  const bool all = std::ranges::find(names, "all") != names.end();
  if (names.empty()) names = {"shuffled"};
  if (all || (scenarios.empty() && !bench.common.peer.empty()))
    names = {"shuffled", "same", "question", "edited", "deleted", "dropped", "restart"};
  if (all) names.emplace_back("noise");
  std::vector<Scenario> wanted;
  for (const std::string& name : names) {
    if (const auto scenario = scenario_of(name)) wanted.push_back(*scenario);
  }
  return wanted;
}

Result<void> ReuseCommand::run() const {
  ReuseBench wanted = bench;
  wanted.scenarios = wanted_scenarios();
  std::ofstream lines;
  if (!details.empty()) {
    lines.open(details);
    if (!lines) return fail(ErrorCode::kIo, "cannot write " + details.string());
  }
  const auto figures = run_reuse_bench(wanted, [&](const ReuseRow& row, const ReuseOutcome& outcome) {
    if (lines.is_open()) print_outcome_json(lines, row, outcome);
  });
  if (!figures) return fail(figures.error());
  if (json) {
    for (const ReuseFigures& f : *figures) print_reuse_json(std::cout, f);
  } else {
    print_reuse_table(std::cout, *figures);
    print_reuse_against_peer(std::cout, *figures);
  }
  if (picture.empty()) return {};
  std::ofstream file(picture);
  file << reuse_picture(*figures);
  file.close();
  return file ? Result<void>() : fail(ErrorCode::kIo, "cannot write " + picture.string());
}

}  // namespace kvboost::bench
