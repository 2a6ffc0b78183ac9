// SPDX-License-Identifier: Apache-2.0
#include "bench/bug_choice.h"

#include <algorithm>
#include <array>
#include <iostream>
#include <memory>
#include <utility>

#include "base/digest.h"
#include "bench/bench_model.h"
#include "bench/bug_progress.h"
#include "bench/bug_trees.h"
#include "cache/key/chunk_key.h"
#include "daemon/pipeline/block_cache.h"
#include "daemon/pipeline/neighbour_run.h"
#include "daemon/pipeline/repair_policy.h"
#include "daemon/prompt/file_parts.h"
#include "daemon/prompt/report.h"

namespace kvboost::bench {
namespace {

using daemon::PartKind;
using daemon::PromptPlan;

constexpr std::size_t kFiles = 4;
constexpr std::size_t kReportTokens = 500;
constexpr double kTolerance = 0.02;  // of policy "auto", as the daemon has it
constexpr std::uint64_t kBlockBytes = 1ULL << 30;
constexpr std::array<std::string_view, kFiles> kLetters = {"A", "B", "C", "D"};

/// A policy as the command names it, and what is repaired by it.
struct Policy {
  std::string name;
  std::optional<daemon::RepairPolicy> repair;  // none: the blocks must be those of this very prompt
};

/// "auto": what the daemon would take, by a trial of the model.
Result<std::vector<Policy>> policies_of(const std::vector<std::string>& names, const BenchModel& model) {
  std::vector<Policy> policies;
  for (const std::string& name : names) {
    auto repair = name == "auto" ? model.tried_policy(daemon::Behind::kNeighbours, kTolerance)
                                 : daemon::parse_repair_policy(name);
    if (!repair) return fail(repair.error());
    policies.push_back({name, *repair});
  }
  return policies;
}

/// A number that depends on the words and the seed alone.
std::string shuffled(std::uint64_t seed, const std::string& words) {
  return sha256(std::to_string(seed) + " " + words).hex();
}

/// The changed file and three others: the best one by words, a neighbour, any. Nothing if the tree has no
/// four.
std::vector<std::string> four_files(const BugTree& tree, const BugCase& bug, std::uint64_t seed) {
  std::vector<std::string> files = {bug.changed_files.front()};
  const auto add = [&](const std::vector<std::string>& from, std::size_t most) {
    for (const std::string& path : from) {
      if (files.size() >= most) return;
      const bool taken = std::ranges::find(files, path) != files.end() ||
                         std::ranges::find(bug.changed_files, path) != bug.changed_files.end();
      if (!taken && tree.wanted(path)) files.push_back(path);
    }
  };
  const auto given = [&](const char* kind) {
    const auto found = bug.distractors.find(kind);
    return found == bug.distractors.end() ? std::vector<std::string>() : found->second;
  };
  std::vector<std::string> by_words, neighbours, any = tree.files;
  for (const auto& found : tree.plain.query(bug.report, 20)) by_words.push_back(tree.files[found.id]);
  std::ranges::sort(any, {}, [&](const std::string& path) { return shuffled(seed, bug.id + path); });
  const auto folder = std::filesystem::path(bug.changed_files.front()).parent_path();
  std::ranges::copy_if(any, std::back_inserter(neighbours), [&](const std::string& path) {
    return std::filesystem::path(path).parent_path() == folder;
  });
  add(bug.distractors.contains("bm25_hard") ? given("bm25_hard") : by_words, 2);
  add(bug.distractors.contains("same_dir") ? given("same_dir") : neighbours, 3);
  add(bug.distractors.contains("random") ? given("random") : any, 4);
  add(any, kFiles);
  if (files.size() < kFiles) return {};
  std::ranges::sort(files, {}, [&](const std::string& path) { return shuffled(seed, path + bug.id); });
  return files;
}

class Chooser {
 public:
  Chooser(const BenchModel& model, const BugTree& tree, const BugCase& bug, std::vector<std::string> files,
          std::size_t file_tokens)
      : model_(model), tree_(tree), bug_(bug), files_(std::move(files)), file_tokens_(file_tokens) {
    const engine::Tokenizer& tokenizer = model.engine().tokenizer();
    neighbours_ = daemon::neighbour_run(daemon::choose_neighbours(*tree.repository, tokenizer), tokenizer,
                                        model.chat(), model.context(), model.engine().info().context);
    const daemon::Report report = daemon::read_report(bug.report);
    spans_ = tree.repository->rank_spans(report.query, 4'000);
    std::string letters;
    for (std::size_t i = 0; i < kFiles; ++i) letters += std::string(kLetters[i]) + ". " + files_[i] + "\n";
    auto tokens = encode(report.text);
    if (tokens.size() > kReportTokens) tokens.resize(kReportTokens);
    question_ = encode("\n\nBug report:\n");
    append(question_, tokens);
    append(question_, encode("\n\nWhich of these files has to be changed to fix it?\n" + letters +
                             "Answer with the letter alone."));
    other_ = encode("\n\nWhat are these files about?");
  }

  [[nodiscard]] Result<std::vector<BugChoice>> run(const std::vector<Policy>& policies) {
    const auto full = model_.read(plan(question_), nullptr, no_live_, 0);
    if (!full) return fail(full.error());
    const std::size_t answer = answer_of(*full);
    std::vector<BugChoice> choices = {choice("full", *full, answer, answer)};
    choices[0].cold_ms = full->ttft_ms;
    for (const auto& [name, repair] : policies) {
      daemon::BlockCache blocks({.max_memory = kBlockBytes});
      const daemon::Reuse reuse{.blocks = &blocks,
                                .model = model_.fingerprint(),
                                .context = model_.context(),
                                .repair = repair,
                                .neighbours = neighbours_.end};
      const auto cold = repair ? read_ahead(blocks) : first_question(reuse);
      if (!cold) return fail(cold.error());
      blocks.flush();
      const auto warm = model_.read(plan(question_), &reuse, no_live_, 0);
      if (!warm) return fail(warm.error());
      choices.push_back(choice(name, *warm, answer_of(*warm), answer));
      choices.back().cold_ms = *cold;
    }
    return choices;
  }

 private:
  using Tokens = std::vector<engine::TokenId>;

  [[nodiscard]] Tokens encode(std::string_view text) const {
    return model_.engine().tokenizer().encode(text);
  }
  static void append(Tokens& to, const Tokens& more) { to.insert(to.end(), more.begin(), more.end()); }

  [[nodiscard]] std::shared_ptr<const daemon::EncodedFile> chunks(const std::string& path) const {
    const auto text = tree_.repository->read(path);
    return tree_.repository->chunks().encode(model_.engine().tokenizer(), path, text ? *text : std::string());
  }

  [[nodiscard]] std::vector<std::size_t> chosen(const std::string& path,
                                                const daemon::EncodedFile& file) const {
    std::vector<daemon::RankedSpan> own;
    std::ranges::copy_if(spans_, std::back_inserter(own),
                         [&](const auto& span) { return span.path == path; });
    return daemon::best_chunks(file, own, file_tokens_);
  }

  [[nodiscard]] PromptPlan plan(const Tokens& question) const {
    PromptPlan plan;
    plan.parts.push_back({.kind = PartKind::kHeader, .tokens = model_.chat().header()});
    for (const std::string& path : files_) {
      const auto file = chunks(path);
      plan.parts.push_back(
          {.kind = PartKind::kFile, .path = path, .tokens = model_.chat().file_opening(path)});
      for (const std::size_t i : chosen(path, *file))
        plan.parts.push_back(daemon::file_part(path, (*file)[i]));
    }
    plan.parts.push_back({.tokens = question});
    plan.parts.push_back({.tokens = model_.chat().turn_to_assistant()});
    return plan;
  }

  /// Another question over the same files.
  [[nodiscard]] Result<double> first_question(const daemon::Reuse& reuse) {
    const auto read = model_.read(plan(other_), &reuse, no_live_, 0);
    return read ? Result<double>(read->ttft_ms) : fail(read.error());
  }

  /// Each file alone, behind the neighbours, and the header. What it takes is no request's time.
  [[nodiscard]] Result<double> read_ahead(daemon::BlockCache& blocks) const {
    const auto context = static_cast<std::size_t>(model_.engine().info().context);
    const Tokens header = model_.chat().header();
    std::vector<daemon::BlockGroup> groups = {{{header, cache::KeyChain(model_.context()).next(header), {}}}};
    for (const std::string& path : files_) {
      const auto file = chunks(path);
      const Tokens before = neighbours_.paths.contains(path) ? Tokens() : neighbours_.tokens;
      for (auto& group :
           daemon::group_blocks(*file, path, model_.chat(), model_.context(), context, before)) {
        end_with_chosen(group, path, *file);
        if (!group.empty()) groups.push_back(std::move(group));
      }
    }
    for (const daemon::BlockGroup& group : groups) {
      auto run = model_.compute(group);
      if (!run) return fail(run.error());
      blocks.wait_for_room({});
      if (!blocks.store_behind(std::move(*run)))
        return fail(ErrorCode::kInternal, "the queue of blocks to store is full");
    }
    return 0.0;
  }

  /// What stands behind the last chunk that is in the prompt need not be computed.
  void end_with_chosen(daemon::BlockGroup& group, const std::string& path,
                       const daemon::EncodedFile& file) const {
    const std::vector<std::size_t> wanted = chosen(path, file);
    while (!group.empty() && std::ranges::none_of(wanted, [&](std::size_t i) {
      return file[i].span.begin == group.back().span.begin && file[i].span.end == group.back().span.end;
    })) {
      group.pop_back();
    }
  }

  [[nodiscard]] std::size_t answer_of(const Reading& reading) const {
    std::vector<std::int32_t> ids;
    for (const std::string_view letter : kLetters) ids.push_back(encode(letter).front());
    return likeliest_of(reading.log_probabilities, ids);
  }

  [[nodiscard]] BugChoice choice(const std::string& policy, const Reading& reading, std::size_t answer,
                                 std::size_t full_answer) const {
    return {bug_.id,
            policy,
            reading.tokens,
            files_[answer] == bug_.changed_files.front(),
            answer == full_answer,
            reading.ttft_ms,
            0};
  }

  const BenchModel& model_;
  const BugTree& tree_;
  const BugCase& bug_;
  const std::vector<std::string> files_;
  const std::size_t file_tokens_;
  daemon::NeighbourRun neighbours_;
  std::vector<daemon::RankedSpan> spans_;
  Tokens question_, other_;
  daemon::LiveSequences no_live_ = model_.no_live();
};

std::string settings_of(const BugBench& bench, const BugSet& set, const std::vector<std::string>& policies) {
  std::string settings = "choice " + set.name + " seed " + std::to_string(bench.seed) + " " +
                         bench.common.model.filename().string() + " " + std::to_string(bench.file_tokens) +
                         " tokens";
  for (const std::string& policy : policies) settings += " " + policy;
  return settings;
}

}  // namespace

Result<std::vector<BugChoice>> run_bug_choice(const BugBench& bench, const BugSet& set,
                                              const std::vector<std::string>& policies) {
  auto done = BugProgress::open(bench.progress, settings_of(bench, set, policies));
  if (!done) return fail(done.error());
  std::optional<BenchModel> model;
  std::vector<Policy> tried;
  BugTrees trees(set, bench.trees, bench.scratch);
  std::vector<BugChoice> all;
  ProgressLine line(set.cases.size());
  for (const BugCase& bug : set.cases) {
    Result<std::vector<BugChoice>> choices = std::vector<BugChoice>();
    if (const std::string* kept = done->find(bug.id)) {
      choices = parse_choices(*kept);
      line.skip();
    } else if (const auto tree = trees.open(bug); !tree) {
      std::cerr << "kvboost-bench: left out " << bug.id << ": " << tree.error().text() << '\n';
      line.skip();
    } else if (auto files = four_files(**tree, bug, bench.seed); files.empty()) {
      std::cerr << "kvboost-bench: left out " << bug.id << ": its tree has no four files\n";
      line.skip();
    } else {
      if (!model) {
        auto loaded = BenchModel::load(bench.common);
        if (!loaded) return fail(loaded.error());
        model.emplace(std::move(*loaded));
        auto found = policies_of(policies, *model);
        if (!found) return fail(found.error());
        tried = std::move(*found);
      }
      choices = Chooser(*model, **tree, bug, std::move(files), bench.file_tokens).run(tried);
      if (!choices) return fail(choices.error());
      if (auto written = done->keep(bug.id, to_line(*choices)); !written) return fail(written.error());
      line.step(bug.id);
    }
    if (!choices) return fail(choices.error());
    std::ranges::move(*choices, std::back_inserter(all));
  }
  if (all.empty()) return fail(ErrorCode::kNotFound, "none of the reports' trees is there");
  return all;
}

}  // namespace kvboost::bench
