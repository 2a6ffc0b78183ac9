// SPDX-License-Identifier: Apache-2.0
// The reuse bench: its prompts, its figures, and a small run of the whole with the real model.
#include "bench/reuse_bench.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <initializer_list>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "bench/bench_model.h"
#include "bench/hit_bench.h"
#include "bench/reuse_peer.h"
#include "bench/reuse_picture.h"
#include "bench/sample_text.h"
#include "bench/source_names.h"
#include "tests/support/scratch_tree.h"

namespace kvboost::bench {
namespace {

using Names = std::vector<std::string>;

TEST(SourceNames, FunctionsAndTypesAreFound) {
  const std::string text =
      "class Cat:\n  def meow(self, loud):\n    return roar(loud)\n"
      "Result<void> Store::open(const Path& path) {\n  if (path.empty()) {\n  while (running()) {\n"
      "  const auto x = make(1); if (x) {\n  foo.each_one(function() {\n"
      "struct Thing {\nclass Forward;\nenum class Colour {\nint used(int);\n";
  EXPECT_EQ(functions_in(text), (Names{"meow", "open"}));
  EXPECT_EQ(types_in(text), (Names{"Thing", "Colour"}));
  EXPECT_TRUE(has_word(text, "meow"));
  EXPECT_FALSE(has_word(text, "ope"));
  EXPECT_FALSE(has_word("reopen", "open"));
  EXPECT_EQ(lines_in("  short\n\tsomething of the right length, here \n------------------------------\n"),
            (Names{"something of the right length, here"}));
}

TEST(FirstToken, IsComparedByItsDistribution) {
  using engine::divergence;
  using engine::likeliest;
  using engine::log_softmax;
  using engine::LogProbabilities;
  const std::vector<float> logits{0, 1, 3, 2};
  const LogProbabilities p = log_softmax(logits);
  double sum = 0;
  for (const double x : p) sum += std::exp(x);
  EXPECT_NEAR(sum, 1, 1e-6);
  EXPECT_EQ(divergence(p, p), 0);
  const LogProbabilities q = log_softmax(std::vector<float>{0, 1, 3, 2.5F});
  EXPECT_GT(divergence(p, q), 0.001);
  EXPECT_EQ(likeliest(p), 2U);
  EXPECT_EQ(likeliest_of(p, std::vector<std::int32_t>{1, 3, 0}), 1U);
  EXPECT_FALSE(is_doubtful(p));
  EXPECT_TRUE(is_doubtful(log_softmax(std::vector<float>{0, 1, 3, 2.95F})));
}

TEST(HitTable, TellsASlowHit) {
  std::ostringstream fast, slow;
  print_hit_table(fast, std::vector{HitTimes{128, 100, 10, 101, 12, 103}});
  EXPECT_NE(fast.str().find("No hit was slower"), std::string::npos);
  print_hit_table(slow,
                  std::vector{HitTimes{128, 100, 10, 101, 12, 103}, HitTimes{256, 100, 10, 101, 112, 103}});
  EXPECT_NE(slow.str().find("A hit was slower"), std::string::npos);
}

ReuseOutcome outcome_of(double ttft_ms, double kl) {
  ReuseOutcome outcome{.ttft_ms = ttft_ms, .full_ttft_ms = 100, .tokens = 50};
  outcome.kl = kl;
  return outcome;
}

TEST(ReuseFigures, AreSummedUp) {
  std::vector<ReuseOutcome> outcomes{outcome_of(10, 0.1), outcome_of(20, 0.3), outcome_of(50, 0.2)};
  outcomes[0].choice = true;
  outcomes[1].choice = false;
  outcomes[2].top1 = false;
  outcomes[2].tokens_repaired = 30;
  const ReuseFigures f = summarise({"shuffled", "none", "bf16", "ram"}, outcomes);
  EXPECT_EQ(f.prompts, 3);
  EXPECT_EQ(f.ttft_ms_p50, 20);
  EXPECT_EQ(f.ttft_ms_p95, 50);
  EXPECT_EQ(f.ratio_to_full, 5);
  EXPECT_NEAR(f.kl_mean, 0.2, 1e-12);
  EXPECT_EQ(f.kl_p95, 0.3);
  EXPECT_NEAR(f.top1_agreement, 2.0 / 3, 1e-12);
  EXPECT_EQ(f.choice_agreement, 0.5);  // of the two that are known
  EXPECT_EQ(f.choices, 2);
  EXPECT_EQ(f.greedy32_equal, std::nullopt);
  EXPECT_EQ(f.tokens_repaired, 10);
}

TEST(ReuseFigures, JsonHasTheFieldsOfTheTable) {
  std::ostringstream out;
  print_reuse_json(out, summarise({"shuffled", "seam:16", "int8", "disk"}, std::vector{outcome_of(10, 0.1)}));
  const auto json = nlohmann::ordered_json::parse(out.str());
  std::vector<std::string> fields;
  for (const auto& [name, value] : json.items()) fields.push_back(name);
  EXPECT_EQ(fields, (Names{"scenario", "policy", "codec", "tier", "prompts", "tokens", "tokens_repaired",
                           "ttft_ms_p50", "ttft_ms_p95", "ratio_to_full", "kl_mean", "kl_p95",
                           "top1_agreement", "choice_agreement", "greedy32_equal"}));
  EXPECT_TRUE(json["choice_agreement"].is_null());
  EXPECT_EQ(json["tier"], "disk");
}

TEST(ReuseFigures, ThePeerStandsBeside) {
  const std::vector<ReuseFigures> figures{
      summarise({"same", "exact", "bf16", "ram"}, std::vector{outcome_of(10, 0)}),
      summarise({"same", "peer", "f16", "peer"}, std::vector{outcome_of(40, 0.01)})};
  std::ostringstream out, alone;
  print_reuse_against_peer(out, figures);
  EXPECT_NE(out.str().find("4.00"), std::string::npos) << out.str();
  print_reuse_against_peer(alone, std::span(figures).first(1));
  EXPECT_TRUE(alone.str().empty());
}

TEST(ReusePicture, HasAPointAPolicyAndItsName) {
  const std::vector<ReuseFigures> figures{
      summarise({"shuffled", "full", "bf16", "full"}, std::vector{outcome_of(7000, 0)}),
      summarise({"shuffled", "none", "bf16", "ram"}, std::vector{outcome_of(250, 0.09)}),
      summarise({"shuffled", "a<b", "bf16", "ram"}, std::vector{outcome_of(400, 0)}),
      summarise({"same", "none", "bf16", "ram"}, std::vector{outcome_of(30, 0.5)})};
  const std::string svg = reuse_picture(figures);
  EXPECT_TRUE(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
  EXPECT_NE(svg.find(">none<"), std::string::npos);
  EXPECT_NE(svg.find(">a&lt;b<"), std::string::npos);
  std::size_t points = 0;
  for (std::size_t at = svg.find("<circle"); at != std::string::npos; at = svg.find("<circle", at + 1))
    ++points;
  EXPECT_EQ(points, 3U);  // one in the legend
  EXPECT_EQ(svg.find("nan"), std::string::npos);
  EXPECT_TRUE(reuse_picture(std::span(figures).first(1)).empty());
}

class ReusePeer : public testing::Test {
 protected:
  Result<void> run(const std::string& script) {
    tree_.write("peer.sh", script);
    PeerRequest request{.peer = "sh " + (tree_ / "peer.sh").string(), .model = "m.gguf", .threads = 2};
    request.letters = {5, 6, 7, 8};
    request.scenarios = {Scenario::kSame, Scenario::kDropped, Scenario::kRestart};
    PromptMaker::Set set;
    set.base.plan.parts = {{.tokens = {1, 2, 3}}};
    set.base.answer = 2;
    set.dropped.plan.parts = {{.kind = daemon::PartKind::kFile, .tokens = {1}}, {.tokens = {3}}};
    request.sets.push_back(std::move(set));
    return run_reuse_peer(request, [this](const ReuseRow& row, const ReuseOutcome& outcome) {
      seen_.emplace_back(row, outcome);
    });
  }

  const test::ScratchTree tree_;
  std::vector<std::pair<ReuseRow, ReuseOutcome>> seen_;
};

constexpr const char* kPeerLine =
    R"({"prompt":0,"scenario":"same","tokens":3,"tokens_reused":2,"tokens_repaired":1,"ttft_ms":1.5,)"
    R"("full_ttft_ms":9,"kl":0.25,"top1":true,"doubtful":false,"choice":false,"right":true})";

TEST_F(ReusePeer, GetsThePromptsAndAnswersInLines) {
  const auto done = run("cat > '" + (tree_ / "asked").string() + "'; echo '" + std::string(kPeerLine) + "'");
  ASSERT_TRUE(done.has_value()) << done.error().text();
  ASSERT_EQ(seen_.size(), 1U);
  EXPECT_EQ(seen_[0].first, (ReuseRow{"same", "peer", "f16", "peer"}));
  EXPECT_EQ(seen_[0].second.kl, 0.25);
  EXPECT_EQ(seen_[0].second.choice, false);
  EXPECT_EQ(seen_[0].second.greedy_equal, std::nullopt);
  const auto asked = nlohmann::json::parse(*sample_text(tree_ / "asked"));
  EXPECT_EQ(asked["letters"], (std::vector{5, 6, 7, 8}));
  EXPECT_EQ(asked["scenarios"], (std::vector<std::string>{"same", "dropped"}));  // a restart needs no prompt
  EXPECT_EQ(asked["sets"][0]["base"]["tokens"], (std::vector{1, 2, 3}));
  EXPECT_EQ(asked["sets"][0]["base"]["answer"], 2);
  EXPECT_EQ(asked["sets"][0]["dropped"]["closing"], 1);
  EXPECT_TRUE(asked["sets"][0]["dropped"]["answer"].is_null());
}

TEST_F(ReusePeer, FailuresAreTold) {
  EXPECT_EQ(run("echo '{\"prompt\":0}'").error().code, ErrorCode::kProtocol);
  EXPECT_EQ(run("echo nonsense").error().code, ErrorCode::kProtocol);
  EXPECT_FALSE(run("exit 4"));
  EXPECT_FALSE(run("exit 0"));  // not a word
}

class RealModel : public testing::Test {
 protected:
  void SetUp() override {
    const char* model = std::getenv("KVBOOST_TEST_MODEL");
    if (model == nullptr) GTEST_SKIP() << "KVBOOST_TEST_MODEL is not set";
    bench_.common.model = model;
    bench_.common.threads = 1;  // more of them wait for each other where other tests run
    add({"answer.cpp", "block_cache.cpp", "live_sequences.cpp", "plan_reader.cpp", "resolver.cpp",
         "scheduler.cpp"});
    bench_.repository = tree_.root() / "src";
    bench_.directory = tree_.root() / "blocks";
    bench_.prompts = 1;
    bench_.files = 4;
    bench_.tokens = 900;
    bench_.greedy = 2;
  }

  /// Files of ours to the repository.
  void add(std::initializer_list<const char*> files) {
    for (const char* file : files) {
      const auto text = sample_text(std::filesystem::path(KVBOOST_SOURCE_DIR) / "daemon" / "pipeline" / file);
      ASSERT_TRUE(text.has_value());
      tree_.write(std::string("src/") + file, *text);
    }
  }

  const test::ScratchTree tree_;
  ReuseBench bench_;
};

std::string between(const std::string& text, const std::string& begin, const std::string& end) {
  const std::size_t at = text.find(begin);
  if (at == std::string::npos) return {};
  const std::size_t first = at + begin.size();
  return text.substr(first, text.find(end, first) - first);
}

std::string subject_of(const std::string& question) {
  for (const auto& [begin, end] :
       {std::pair{"the line `", "`?\nA. "}, {"the function ", " defined?"}, {"the type ", " defined?"}}) {
    if (auto found = between(question, begin, end); !found.empty()) return found;
  }
  return {};
}

/// What the prompt has of the file behind a letter.
std::string_view text_behind(const PromptMaker& maker, const std::string& question, char letter) {
  const std::string path = between(question + '\n', std::string("\n") + letter + ". ", "\n");
  const auto file = std::ranges::find(maker.files(), path, &PromptFile::path);
  EXPECT_NE(file, maker.files().end()) << question;
  return file == maker.files().end() ? std::string_view() : file->taken();
}

TEST_F(RealModel, EachQuestionIsNewAndItsAnswerTrue) {
  const auto model = BenchModel::load(bench_.common);
  ASSERT_TRUE(model.has_value());
  auto repository = daemon::Repository::open(bench_.repository, {});
  ASSERT_TRUE(repository && (*repository)->refresh({}));
  auto maker = PromptMaker::make(**repository, model->chat(), model->engine().tokenizer(), model->context(),
                                 {.files = 4, .tokens = 900, .pool = 6, .seed = 3});
  ASSERT_TRUE(maker.has_value()) << maker.error().text();
  const auto& tokenizer = model->engine().tokenizer();
  std::set<std::string> questions;
  std::size_t open = 0;
  for (int i = 0; i < 8; ++i) {
    const auto set = maker->next();
    ASSERT_TRUE(set.has_value()) << set.error().text();
    EXPECT_EQ(set->base.plan.parts.size(), set->question.plan.parts.size());
    EXPECT_NE(set->base.plan.tokens(), set->edited.plan.tokens());
    EXPECT_LT(set->deleted.plan.size(), set->base.plan.size());
    EXPECT_LT(set->dropped.plan.size(), set->deleted.plan.size());
    for (const ReusePrompt* prompt : {&set->base, &set->shuffled.front(), &set->question}) {
      const auto& parts = prompt->plan.parts;
      const std::string question = tokenizer.decode(parts[parts.size() - 2].tokens);
      EXPECT_TRUE(questions.insert(question).second) << question;
      if (!prompt->answer) {
        ++open;
        continue;
      }
      const std::string subject = subject_of(question);
      ASSERT_FALSE(subject.empty()) << question;
      for (std::size_t letter = 0; letter < 4; ++letter) {
        EXPECT_EQ(has_word(text_behind(*maker, question, static_cast<char>('A' + letter)), subject),
                  letter == *prompt->answer)
            << question;
      }
    }
  }
  EXPECT_EQ(open, 6U);
}

TEST_F(RealModel, ASmallRunMeasuresReuse) {
  bench_.policies = {"none", "seam:4", "exact"};
  bench_.codecs = {cache::Codec::kBf16, cache::Codec::kInt8};
  bench_.scenarios = {Scenario::kShuffled, Scenario::kSame, Scenario::kQuestion, Scenario::kEdited,
                      Scenario::kRestart};
  std::map<ReuseRow, ReuseOutcome> seen;
  const auto figures = run_reuse_bench(
      bench_, [&](const ReuseRow& row, const ReuseOutcome& outcome) { seen.emplace(row, outcome); });
  ASSERT_TRUE(figures.has_value()) << figures.error().text();
  EXPECT_EQ(figures->size(), 1U + 2 * 2 * 3 + 1 + 3 * 4);
  EXPECT_EQ(seen.size(), figures->size());
  const auto of = [&](const char* scenario, const char* policy, const char* codec, const char* tier) {
    const auto found = seen.find({scenario, policy, codec, tier});
    if (found != seen.end()) return found->second;
    ADD_FAILURE() << scenario << ' ' << policy << ' ' << codec << ' ' << tier << " is missing";
    return ReuseOutcome{};
  };
  const ReuseOutcome none = of("shuffled", "none", "bf16", "ram");
  EXPECT_EQ(none.tokens_repaired, 0);
  EXPECT_GT(none.tokens_reused, none.tokens / 2);
  EXPECT_GT(none.kl, 1e-4);  // nothing repaired: it must show
  for (const char* tier : {"disk", "cold"}) {
    // The same bytes from elsewhere.
    EXPECT_NEAR(of("shuffled", "none", "bf16", tier).kl, none.kl, 1e-3);
    EXPECT_NEAR(of("shuffled", "none", "int8", tier).kl, of("shuffled", "none", "int8", "ram").kl, 1e-3);
  }
  const ReuseOutcome seam = of("shuffled", "seam:4", "bf16", "disk");
  EXPECT_EQ(seam.tokens_reused, none.tokens_reused);
  EXPECT_EQ(seam.tokens_repaired, 3 * 4);  // all files but the first have moved
  EXPECT_NE(seam.kl, none.kl);
  for (const char* scenario : {"shuffled", "same", "question", "edited", "restart"}) {
    const bool restart = std::string(scenario) == "restart";
    const ReuseOutcome exact = of(scenario, "exact", "bf16", restart ? "disk" : "ram");
    EXPECT_LT(exact.kl, 0.02) << scenario;  // the engine's own noise on one prompt
    EXPECT_TRUE(exact.top1 || exact.doubtful) << scenario;
  }
  EXPECT_EQ(of("same", "exact", "bf16", "ram").tokens_repaired, 0);
  EXPECT_EQ(of("question", "exact", "bf16", "ram").tokens_repaired, 0);
  EXPECT_EQ(of("restart", "exact", "bf16", "disk").tokens_repaired, 0);
  const ReuseOutcome again = of("same", "seam:4", "bf16", "ram");  // what was repaired stays live
  EXPECT_EQ(again.tokens_reused, again.tokens - 1);
  EXPECT_GT(of("edited", "none", "bf16", "ram").tokens_repaired, 0);  // the chunk that was edited
  EXPECT_LT(of("edited", "none", "bf16", "ram").tokens_repaired,
            of("edited", "exact", "bf16", "ram").tokens_repaired);
}

// Behind text that no prompt has no block but the header's is exact.
TEST_F(RealModel, BlocksCanBeComputedBehindNeighbours) {
  bench_.greedy = 0;
  bench_.questions = 2;
  bench_.scenarios = {Scenario::kShuffled, Scenario::kNoise};
  bench_.neighbours = true;
  bench_.policies = {"seam:1"};
  bench_.codecs = {cache::Codec::kBf16};
  bench_.tiers = {Tier::kRam};
  EXPECT_EQ(run_reuse_bench(bench_).error().code, ErrorCode::kInvalidArgument);  // too few files
  add({"answer.cpp", "block_cache.cpp", "block_cache.h", "conversation_file.cpp", "file_blocks.cpp",
       "follower.cpp", "group_run.cpp", "live_sequences.cpp", "model_host.cpp", "model_ranker.cpp",
       "plan_reader.cpp", "repair_policy.cpp", "reuse_gate.cpp", "reuse_trial.cpp", "scheduler.cpp",
       "warm_pass.cpp", "warmer.cpp"});
  std::map<ReuseRow, ReuseOutcome> seen;
  const auto figures = run_reuse_bench(
      bench_, [&](const ReuseRow& row, const ReuseOutcome& outcome) { seen.emplace(row, outcome); });
  ASSERT_TRUE(figures.has_value()) << figures.error().text();
  EXPECT_EQ(seen.at({"shuffled", "seam:1", "bf16", "ram"}).tokens_repaired, 4);  // the first file's as well
  for (const ReuseFigures& f : *figures) EXPECT_EQ(f.prompts, 2) << f.row.scenario << ' ' << f.row.policy;
  for (const auto& [row, outcome] : seen) {
    if (row.policy == "full") {
      EXPECT_LT(outcome.kl, 0.02) << row.scenario;
    }
  }
}

TEST_F(RealModel, HitsAndMissesAreTold) {
  HitBench hit{.common = bench_.common, .directory = bench_.directory, .lengths = {128, 300}};
  hit.common.text = bench_.repository;
  hit.common.runs = 1;
  const auto times = run_hit_bench(hit);
  ASSERT_TRUE(times.has_value()) << times.error().text();
  ASSERT_EQ(times->size(), 2U);
  EXPECT_EQ((*times)[0].tokens, 128);
  EXPECT_EQ((*times)[1].tokens, 300);
  for (const double ms : {(*times)[1].off, (*times)[1].ram_hit, (*times)[1].disk_hit, (*times)[1].disk_miss})
    EXPECT_GT(ms, 0);
  hit.lengths = {1'000'000};
  EXPECT_EQ(run_hit_bench(hit).error().code, ErrorCode::kInvalidArgument);
}

TEST_F(RealModel, TooFewFilesAreAnError) {
  bench_.tokens = 100'000;
  const auto refused = run_reuse_bench(bench_);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace kvboost::bench
