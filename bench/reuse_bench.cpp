// SPDX-License-Identifier: Apache-2.0
#include "bench/reuse_bench.h"

#include <algorithm>
#include <iostream>
#include <map>
#include <optional>
#include <utility>

#include "bench/bench_model.h"
#include "bench/reuse_peer.h"
#include "daemon/pipeline/repair_policy.h"

namespace kvboost::bench {
namespace {

using daemon::PromptPlan;

/// What was read in which way, in the order in which the ways came up.
class Outcomes {
 public:
  explicit Outcomes(const OutcomeSink& sink) : sink_(sink) {}

  void add(const ReuseRow& row, ReuseOutcome outcome) {
    if (sink_) sink_(row, outcome);
    auto found = std::ranges::find(rows_, row, [](const auto& r) { return r.first; });
    if (found == rows_.end()) found = rows_.insert(rows_.end(), {row, {}});
    found->second.push_back(std::move(outcome));
  }

  [[nodiscard]] std::vector<ReuseFigures> figures() const {
    std::vector<ReuseFigures> all;
    for (const auto& [row, outcomes] : rows_) all.push_back(summarise(row, outcomes));
    return all;
  }

 private:
  OutcomeSink sink_;
  std::vector<std::pair<ReuseRow, std::vector<ReuseOutcome>>> rows_;
};

struct Policy {
  std::string name;
  std::optional<daemon::RepairPolicy> repair;
  bool prefix_only = false;
};

class ReuseRun {
 public:
  [[nodiscard]] static Result<ReuseRun> prepare(const ReuseBench& bench, Outcomes& outcomes);

  /// The prompt that comes next, in every way.
  [[nodiscard]] Result<void> next_prompt();

  /// What a peer is to read, for the prompts so far.
  [[nodiscard]] PeerRequest peer_request() && {
    return {bench_.common.peer, bench_.common.model, model_.engine().info().threads, bench_.greedy,
            letters_,           bench_.scenarios,    std::move(peer_sets_)};
  }

 private:
  ReuseRun(const ReuseBench& bench, BenchModel model, PromptMaker maker, Outcomes& outcomes)
      : bench_(bench), model_(std::move(model)), maker_(std::move(maker)), outcomes_(&outcomes) {}

  Result<void> warm();
  Result<void> store(const daemon::BlockGroup& group);
  [[nodiscard]] Result<Policy> policy_of(const std::string& name);
  Result<void> tiers(const ReusePrompt& prompt);
  Result<void> tier(const ReusePrompt& prompt, const Policy& policy, StoredBlocks& blocks, Tier tier,
                    std::optional<Reading>& first_tier);
  Result<void> successors(const PromptMaker::Set& set, const Policy& policy);
  Result<void> restarted(const ReusePrompt& base, const Policy& policy);
  Result<void> noise(const std::vector<ReusePrompt>& prompts);

  Result<const Reading*> full(const ReusePrompt& prompt);
  Result<void> full_of(const std::vector<ReusePrompt>& prompts);
  Result<Reading> read(const ReusePrompt& prompt, const Policy& policy, daemon::BlockCache& blocks,
                       daemon::LiveSequences& live, std::int32_t greedy) const;
  Result<void> add(const ReuseRow& row, const ReusePrompt& prompt, const Reading& reading);
  [[nodiscard]] bool wants(Scenario scenario) const {
    return std::ranges::find(bench_.scenarios, scenario) != bench_.scenarios.end();
  }
  [[nodiscard]] ReuseRow row(Scenario scenario, const Policy& policy, const StoredBlocks& blocks,
                             Tier tier) const {
    return {to_string(scenario), policy.name, std::string(cache::to_string(blocks.codec())), to_string(tier)};
  }

  ReuseBench bench_;
  BenchModel model_;
  PromptMaker maker_;
  Outcomes* outcomes_;
  std::vector<Policy> policies_;
  std::vector<StoredBlocks> stored_;   // one a codec
  std::vector<std::int32_t> letters_;  // the tokens of the four answers
  std::map<const ReusePrompt*, Reading> full_;
  std::int32_t prompt_ = 0;
  std::vector<PromptMaker::Set> peer_sets_;
};

Result<ReuseRun> ReuseRun::prepare(const ReuseBench& bench, Outcomes& outcomes) {
  auto repository = daemon::Repository::open(bench.repository, {});
  if (!repository) return fail(repository.error());
  if (auto fresh = (*repository)->refresh({}); !fresh) return fail(fresh.error());
  auto model = BenchModel::load(bench.common);
  if (!model) return fail(model.error());
  const auto many = static_cast<std::size_t>(std::max(3 * bench.files, std::min(64, bench.prompts)));
  auto maker = PromptMaker::make(**repository, model->chat(), model->engine().tokenizer(), model->context(),
                                 {.files = bench.files,
                                  .tokens = bench.tokens,
                                  .questions = bench.questions,
                                  .pool = many,
                                  .neighbours = bench.neighbours,
                                  .seed = bench.seed,
                                  .context = model->engine().info().context});
  if (!maker) return fail(maker.error());
  ReuseRun run(bench, std::move(*model), std::move(*maker), outcomes);
  for (const std::string& name : bench.policies) {
    auto policy = run.policy_of(name);
    if (!policy) return fail(policy.error());
    run.policies_.push_back(std::move(*policy));
  }
  for (const char* letter : {" A", " B", " C", " D"}) {
    run.letters_.push_back(run.model_.engine().tokenizer().encode(letter).front());
  }
  for (const cache::Codec codec : bench.codecs) {
    auto blocks = StoredBlocks::make(bench.directory, codec);
    if (!blocks) return fail(blocks.error());
    run.stored_.push_back(std::move(*blocks));
  }
  if (auto warmed = run.warm(); !warmed) return fail(warmed.error());
  return run;
}

/// "auto": what the daemon would take, by a trial of the model.
Result<Policy> ReuseRun::policy_of(const std::string& name) {
  if (name == "prefix-only") return Policy{name, std::nullopt, true};
  if (name != "auto") {
    auto repair = daemon::parse_repair_policy(name);
    if (!repair) return fail(repair.error());
    return Policy{name, *repair};
  }
  const auto behind = bench_.neighbours ? daemon::Behind::kNeighbours : daemon::Behind::kHeader;
  const auto cheapest = model_.tried_policy(behind, bench_.tolerance);
  if (!cheapest) return fail(cheapest.error());
  return Policy{name, *cheapest};
}

Result<void> ReuseRun::warm() {
  // Behind neighbours the header is in no file's group.
  if (auto stored = store({maker_.files().front().group.front()}); !stored) return stored;
  for (const PromptFile& file : maker_.files()) {
    if (auto stored = store(maker_.warmed(file)); !stored) return stored;
  }
  for (StoredBlocks& blocks : stored_) blocks.end_warming();
  std::cerr << "warmed " << maker_.files().size() << " files\n";
  return {};
}

/// Computes the blocks once, for all codecs.
Result<void> ReuseRun::store(const daemon::BlockGroup& group) {
  const auto run = model_.compute(group);
  if (!run) return fail(run.error());
  for (StoredBlocks& blocks : stored_) {
    if (auto added = blocks.add(*run); !added) return added;
  }
  return {};
}

Result<void> ReuseRun::next_prompt() {
  const auto set = maker_.next();
  if (!set) return fail(set.error());
  full_.clear();
  if (auto done = full_of(set->shuffled); !done) return done;
  if (wants(Scenario::kNoise)) {
    if (auto done = noise(set->shuffled); !done) return done;
  }
  for (const ReusePrompt& prompt : set->shuffled) {
    if (!wants(Scenario::kShuffled)) break;
    if (auto done = tiers(prompt); !done) return done;
  }
  const bool any_successor = std::ranges::any_of(
      bench_.scenarios, [](Scenario s) { return s != Scenario::kShuffled && s != Scenario::kNoise; });
  for (const Policy& policy : policies_) {
    if (!any_successor) break;
    if (auto done = successors(*set, policy); !done) return done;
  }
  if (!bench_.common.peer.empty()) {
    const auto base = full(set->base);
    if (!base) return fail(base.error());
    if (auto done = add({"cold", "full", model_.live_codec(), "full"}, set->base, **base); !done) return done;
    peer_sets_.push_back(*set);
  }
  ++prompt_;
  const ReusePrompt& shuffled = set->shuffled.front();
  std::cerr << "prompt " << prompt_ << " of " << bench_.prompts << ": " << shuffled.plan.size()
            << " tokens, a full read " << static_cast<int>(full_.at(&shuffled).ttft_ms) << " ms\n";
  return {};
}

/// From nothing live: every policy by every codec and tier.
Result<void> ReuseRun::tiers(const ReusePrompt& prompt) {
  for (const Policy& policy : policies_) {
    for (StoredBlocks& blocks : stored_) {
      std::optional<Reading> first_tier;
      for (const Tier where : bench_.tiers) {
        // It computes nearly all, whatever the codec and wherever the rest comes from.
        if (!policy.repair && (&blocks != &stored_.front() || where != bench_.tiers.front())) continue;
        if (auto done = tier(prompt, policy, blocks, where, first_tier); !done) return done;
      }
    }
  }
  return {};
}

Result<void> ReuseRun::tier(const ReusePrompt& prompt, const Policy& policy, StoredBlocks& blocks, Tier where,
                            std::optional<Reading>& first_tier) {
  const auto cache = blocks.open(where);
  if (!cache) return fail(cache.error());
  auto live = model_.no_live();
  // The same logits from the same blocks go on to the same answer: it is written once.
  auto reading = read(prompt, policy, **cache, live, first_tier ? 0 : bench_.greedy);
  if (!reading) return fail(reading.error());
  if (first_tier && reading->log_probabilities == first_tier->log_probabilities) {
    reading->greedy = first_tier->greedy;
  } else if (first_tier && bench_.greedy > 0) {
    live = model_.no_live();
    auto again = read(prompt, policy, **cache, live, bench_.greedy);
    if (!again) return fail(again.error());
    reading->greedy = std::move(again->greedy);
  }
  if (auto restored = blocks.restore({&prompt.plan}, model_.context()); !restored) return restored;
  const auto inexact = [](const daemon::PartRead& part) {
    return part.match == daemon::Match::kApproximate && part.loaded > 0;
  };
  if (policy.repair && std::ranges::none_of(reading->read.parts, inexact)) {
    return fail(ErrorCode::kInternal, "'" + policy.name + "' has read a prompt without any moved block",
                "this measures no reuse: the blocks were not stored, or the policy does not use them");
  }
  if (auto done = add(row(Scenario::kShuffled, policy, blocks, where), prompt, *reading); !done) return done;
  if (!first_tier) first_tier = std::move(*reading);
  return {};
}

/// What follows on the base: it is live, and what it computed is stored.
Result<void> ReuseRun::successors(const PromptMaker::Set& set, const Policy& policy) {
  StoredBlocks& blocks = stored_.front();
  const auto cache = blocks.open(Tier::kRam);
  if (!cache) return fail(cache.error());
  auto live = model_.no_live();
  const auto answered = read(set.base, policy, **cache, live, bench_.greedy);
  if (!answered) return fail(answered.error());
  auto all = set.base.plan.tokens();
  all.insert(all.end(), answered->greedy.begin(), answered->greedy.end());
  all.push_back(0);  // what goes on behind the answer gets the whole sequence
  const auto base = live.take(all);
  if (!base) return fail(base.error());
  std::vector<const PromptPlan*> plans{&set.base.plan};
  for (const Scenario scenario :
       {Scenario::kSame, Scenario::kQuestion, Scenario::kEdited, Scenario::kDeleted, Scenario::kDropped}) {
    if (!wants(scenario)) continue;
    const ReusePrompt& prompt = set.of(scenario);
    auto after_base = daemon::LiveSequences(model_.engine(), 4, ~0ULL);
    after_base.give_back(
        {base->sequence.fork(base->sequence.size()), base->exact_tokens, base->prompt_tokens});
    const auto reading = read(prompt, policy, **cache, after_base, bench_.greedy);
    if (!reading) return fail(reading.error());
    (*cache)->flush();
    plans.push_back(&prompt.plan);
    if (auto done = add(row(scenario, policy, blocks, Tier::kRam), prompt, *reading); !done) return done;
  }
  if (auto restored = blocks.restore(plans, model_.context()); !restored) return restored;
  return wants(Scenario::kRestart) ? restarted(set.base, policy) : Result<void>();
}

/// The base, after a daemon that had answered it has ended.
Result<void> ReuseRun::restarted(const ReusePrompt& base, const Policy& policy) {
  StoredBlocks& blocks = stored_.front();
  std::optional<Reading> reading;
  for (int life = 0; life < 2; ++life) {
    const auto cache = blocks.open(Tier::kDisk);
    if (!cache) return fail(cache.error());
    auto live = model_.no_live();
    auto read = this->read(base, policy, **cache, live, life == 0 ? 0 : bench_.greedy);
    if (!read) return fail(read.error());
    (*cache)->flush();
    reading = std::move(*read);
  }
  if (auto restored = blocks.restore({&base.plan}, model_.context()); !restored) return restored;
  return add(row(Scenario::kRestart, policy, blocks, Tier::kDisk), base, *reading);
}

/// The prompts in full, in two calls, so that their blocks of rows are others.
Result<void> ReuseRun::noise(const std::vector<ReusePrompt>& prompts) {
  auto live = model_.no_live();
  auto beginning = prompts.front().plan;
  beginning.parts.resize(beginning.parts.size() / 3);
  if (auto read = model_.read(beginning, nullptr, live, 0); !read) return fail(read.error());
  for (const ReusePrompt& prompt : prompts) {
    const auto reading = model_.read(prompt.plan, nullptr, live, bench_.greedy);
    if (!reading) return fail(reading.error());
    const ReuseRow row{to_string(Scenario::kNoise), "full", model_.live_codec(), "full"};
    if (auto done = add(row, prompt, *reading); !done) return done;
  }
  return {};
}

/// Prompts that differ in their questions alone: the files are read once.
Result<void> ReuseRun::full_of(const std::vector<ReusePrompt>& prompts) {
  auto live = model_.no_live();
  double ttft_ms = 0;
  for (const ReusePrompt& prompt : prompts) {
    auto reading = model_.read(prompt.plan, nullptr, live, bench_.greedy);
    if (!reading) return fail(reading.error());
    if (&prompt == &prompts.front()) ttft_ms = reading->ttft_ms;
    reading->ttft_ms = ttft_ms;
    const Reading& kept = full_.emplace(&prompt, std::move(*reading)).first->second;
    const ReuseRow row{to_string(Scenario::kShuffled), "full", model_.live_codec(), "full"};
    if (auto done = add(row, prompt, kept); !done) return done;
  }
  return {};
}

Result<const Reading*> ReuseRun::full(const ReusePrompt& prompt) {
  if (const auto known = full_.find(&prompt); known != full_.end()) return &known->second;
  auto live = model_.no_live();
  auto reading = model_.read(prompt.plan, nullptr, live, bench_.greedy);
  if (!reading) return fail(reading.error());
  return &full_.emplace(&prompt, std::move(*reading)).first->second;
}

Result<Reading> ReuseRun::read(const ReusePrompt& prompt, const Policy& policy, daemon::BlockCache& blocks,
                               daemon::LiveSequences& live, std::int32_t greedy) const {
  const daemon::Reuse reuse{.blocks = &blocks,
                            .model = model_.fingerprint(),
                            .context = model_.context(),
                            .repair = policy.repair,
                            .prefix_only = policy.prefix_only,
                            .neighbours = maker_.neighbours()};
  return model_.read(prompt.plan, &reuse, live, greedy);
}

Result<void> ReuseRun::add(const ReuseRow& row, const ReusePrompt& prompt, const Reading& reading) {
  const auto expected = full(prompt);
  if (!expected) return fail(expected.error());
  const engine::LogProbabilities& from = (*expected)->log_probabilities;
  const engine::LogProbabilities& to = reading.log_probabilities;
  ReuseOutcome outcome{.prompt = prompt_, .ttft_ms = reading.ttft_ms, .full_ttft_ms = (*expected)->ttft_ms};
  outcome.tokens = reading.tokens;
  outcome.tokens_reused = reading.reused;
  outcome.tokens_repaired = reading.repaired;
  outcome.kl = engine::divergence(from, to);
  outcome.top1 = engine::likeliest(from) == engine::likeliest(to);
  if (prompt.answer) {
    outcome.choice = likeliest_of(from, letters_) == likeliest_of(to, letters_);
    outcome.right = likeliest_of(to, letters_) == *prompt.answer;
  }
  if (bench_.greedy > 0) outcome.greedy_equal = (*expected)->greedy == reading.greedy;
  outcome.doubtful = is_doubtful(from);
  outcome.load_ms = reading.read.load_ms;
  outcome.select_ms = reading.read.select_ms;
  outcome.prefill_ms = reading.read.prefill_ms;
  outcomes_->add(row, std::move(outcome));
  return {};
}

}  // namespace

Result<std::vector<ReuseFigures>> run_reuse_bench(const ReuseBench& bench, const OutcomeSink& sink) {
  Outcomes outcomes(sink);
  PeerRequest peer;
  {
    auto run = ReuseRun::prepare(bench, outcomes);
    if (!run) return fail(run.error());
    for (std::int32_t i = 0; i < bench.prompts; ++i) {
      if (auto done = run->next_prompt(); !done) return fail(done.error());
    }
    peer = std::move(*run).peer_request();
  }  // the peer gets the machine for itself
  if (!bench.common.peer.empty()) {
    const auto done = run_reuse_peer(
        peer, [&](const ReuseRow& row, const ReuseOutcome& outcome) { outcomes.add(row, outcome); });
    if (!done) return fail(done.error());
  }
  return outcomes.figures();
}

}  // namespace kvboost::bench
