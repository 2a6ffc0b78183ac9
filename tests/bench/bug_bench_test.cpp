// SPDX-License-Identifier: Apache-2.0
// The bug bench: reading and mining sets, its figures on rankings whose outcome is known, and small runs.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "bench/bug_choice.h"
#include "bench/bug_figures.h"
#include "bench/bug_mining.h"
#include "bench/bug_progress.h"
#include "bench/bug_rank.h"
#include "bench/bug_set.h"
#include "tests/support/scratch_tree.h"
#include "tests/support/tiny_model.h"

namespace kvboost::bench {
namespace {

BugRanking ranking(const std::string& id, std::vector<double> words, std::vector<double> model,
                   std::size_t changed) {
  BugRanking made{.id = id, .kind = "issue"};
  made.n_changed = 1;
  made.plain_ranks = {4};
  for (std::size_t i = 0; i < words.size(); ++i)
    made.files.push_back({{{"words", words[i]}, {"model", model[i]}}, i == changed});
  return made;
}

const RankFigures& of(const std::vector<RankFigures>& all, const std::string& ranker) {
  return *std::ranges::find(all, ranker, &RankFigures::ranker);
}

TEST(BugFigures, AreThoseOfTheRankings) {
  // The model is always right, words put the changed file second.
  std::vector<BugRanking> rankings;
  for (int i = 0; i < 20; ++i) rankings.push_back(ranking(std::to_string(i), {3, 2, 1}, {1, 5, 1}, 1));
  const auto figures = rank_figures(rankings, 1);
  EXPECT_EQ(of(figures, "bm25").mrr.mean, 0.25);
  EXPECT_EQ(of(figures, "words").mrr.mean, 0.5);
  EXPECT_EQ(of(figures, "words").top1.mean, 0);
  EXPECT_EQ(of(figures, "words").top5.mean, 1);
  EXPECT_EQ(of(figures, "model").mrr.mean, 1);
  EXPECT_EQ(of(figures, "fused").map.mean, 1);
  EXPECT_EQ(of(figures, "fused").cases, 20);
  EXPECT_EQ(fused_gain(rankings, 1).mean, 0.5);
  EXPECT_EQ(fit_weight(rankings), 0.75) << "the least that puts the changed file first";
}

TEST(BugFigures, AModelThatIsWrongGetsNoWeight) {
  std::vector<BugRanking> rankings;
  for (int i = 0; i < 20; ++i) rankings.push_back(ranking(std::to_string(i), {3, 2, 1}, {1, 2, 9}, 0));
  EXPECT_EQ(fit_weight(rankings), 0);
  EXPECT_EQ(of(rank_figures(rankings, 1), "fused").mrr.mean, 1);
}

TEST(BugFigures, WhatWasNotFoundCountsAsNothing) {
  BugRanking one = ranking("1", {3, 2}, {3, 2}, 0);
  one.n_changed = 2;
  const auto figures = rank_figures(std::vector{one}, 1);
  EXPECT_EQ(of(figures, "words").map.mean, 0.5);
  EXPECT_EQ(of(figures, "words").mrr.mean, 1);
}

TEST(BugFigures, IntervalsHoldTheMeanAndNarrowWithMoreReports) {
  std::vector<double> few, many;
  for (int i = 0; i < 400; ++i) {
    if (i < 20) few.push_back(i % 2);
    many.push_back(i % 2);
  }
  const Estimate wide = bootstrap_mean(few, 1), narrow = bootstrap_mean(many, 1);
  EXPECT_LT(wide.low, 0.5);
  EXPECT_GT(wide.high, 0.5);
  EXPECT_LT(narrow.high - narrow.low, wide.high - wide.low);
  EXPECT_EQ(bootstrap_mean(few, 1).low, wide.low);
}

TEST(BugFigures, ALineGivesTheRankingBack) {
  const BugRanking made = ranking("odd \"id\"", {3, 2.5}, {-1.25, 2}, 1);
  const auto again = parse_ranking(to_line(made));
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(to_line(*again), to_line(made));
  EXPECT_FALSE(parse_ranking("{}").has_value());
  EXPECT_FALSE(parse_ranking("{\"id\":").has_value());
}

TEST(BugSets, AreReadInBothForms) {
  const test::ScratchTree folder;
  folder.write(
      "set.jsonl",
      R"({"id":"a","report_kind":"issue","repo":"r","report":"x","changed_files":["a.c"],)"
      R"("distractors":{"random":["b.c"]},"leak":"path","tree":{"key":"r@1"}})"
      "\n\n"
      R"({"repo_owner":"o","repo_name":"n","base_sha":"abc","issue_title":"In BigFile","issue_body":"y",)"
      R"("changed_files":"['src/BigFile.py', 'b.py']"})"
      "\n");
  folder.write("candidates.json", R"({"r@1":{"C":["a.c","b.c"]}})");
  const auto set = read_bug_set(folder / "set.jsonl");
  ASSERT_TRUE(set.has_value()) << set.error().text();
  ASSERT_EQ(set->cases.size(), 2U);
  EXPECT_EQ(set->cases[0].tree, "r@1");
  EXPECT_EQ(set->cases[0].distractors.at("random").front(), "b.c");
  EXPECT_TRUE(set->cases[0].names_file);
  EXPECT_EQ(set->cases[1].tree, "o__n");
  EXPECT_EQ(set->cases[1].commit, "abc");
  EXPECT_EQ(set->cases[1].report, "In BigFile\ny");
  EXPECT_EQ(set->cases[1].changed_files, (std::vector<std::string>{"src/BigFile.py", "b.py"}));
  EXPECT_TRUE(set->cases[1].names_file);
  EXPECT_EQ(set->candidates.at("r@1").size(), 2U);
}

TEST(BugSets, SayWhichLineIsWrong) {
  const test::ScratchTree folder;
  folder.write("set.jsonl", "{\"id\":\"a\"}\n");
  EXPECT_NE(read_bug_set(folder / "set.jsonl").error().message.find("set.jsonl:1:"), std::string::npos);
  folder.write("empty.jsonl", "\n");
  EXPECT_FALSE(read_bug_set(folder / "empty.jsonl").has_value());
  EXPECT_EQ(read_bug_set(folder / "none.jsonl").error().code, ErrorCode::kNotFound);
}

TEST(BugMining, KnowsFixesByTheirMessages) {
  for (const char* fix :
       {"Fix crash on empty input", "parser: fixed a leak", "Handle overflow in sum (fixes #12)"})
    EXPECT_TRUE(is_fix(fix)) << fix;
  for (const char* other : {"Fix typo in comment", "docs: fix a link", "Add a prefix", "test: fix flaky run",
                            "Merge branch 'fix'", "Debug output"})
    EXPECT_FALSE(is_fix(other)) << other;
  EXPECT_EQ(report_of("Fix it\n\nBy <a.b@example.org> found.\n\nSigned-off-by: A <a@example.org>\n"),
            "Fix it\n\nBy  found.");
}

class BugRun : public testing::Test {
 protected:
  void SetUp() override {
    repository_.git({"init", "-q"});
    repository_.write("src/window.c", "int open_window(int width) {\n  return width;\n}\n");
    repository_.write("src/door.c", "int open_door(int height) {\n  return height;\n}\n");
    repository_.write("tests/t.c", "int t;\n");
    repository_.commit("start");
    repository_.write("src/window.c", "int open_window(int width) {\n  return width + 1;\n}\n");
    repository_.write("tests/t.c", "int u;\n");
    repository_.commit("Fix wrong width of a window");
    bench_.scratch = scratch_.root();
    bench_.words_only = true;
  }

  const test::ScratchTree repository_;
  const test::ScratchTree scratch_;
  BugBench bench_;
};

TEST_F(BugRun, RanksTheFixesOfARepository) {
  const auto set = mine_bug_set(repository_.root(), 0);
  ASSERT_TRUE(set.has_value()) << set.error().text();
  ASSERT_EQ(set->cases.size(), 1U);
  EXPECT_EQ(set->cases[0].changed_files, std::vector<std::string>{"src/window.c"});
  const auto rankings = run_bug_rank(bench_, *set);
  ASSERT_TRUE(rankings.has_value()) << rankings.error().text();
  EXPECT_EQ(of(rank_figures(*rankings, 1), "words").top1.mean, 1);
  std::ostringstream table;
  print_rank_table(table, rank_figures(*rankings, 1));
  EXPECT_NE(table.str().find("words"), std::string::npos);
}

TEST_F(BugRun, GoesOnWhereItWasStopped) {
  const auto set = mine_bug_set(repository_.root(), 0);
  ASSERT_TRUE(set.has_value());
  bench_.progress = scratch_ / "progress";
  ASSERT_TRUE(run_bug_rank(bench_, *set).has_value());
  std::ofstream(bench_.progress, std::ios::app) << "cut sho";
  BugSet without_tree = *set;
  without_tree.cases[0].tree = "/nowhere";
  const auto again = run_bug_rank(bench_, without_tree);
  ASSERT_TRUE(again.has_value()) << "what is done needs no tree";
  EXPECT_EQ(again->size(), 1U);
  bench_.seed = 2;
  EXPECT_EQ(run_bug_rank(bench_, *set).error().code, ErrorCode::kInvalidArgument);
}

TEST_F(BugRun, FailsWhenNoTreeIsThere) {
  BugSet set{.name = "s",
             .cases = {{.id = "a",
                        .kind = "issue",
                        .repository = "r",
                        .tree = "r",
                        .commit = "",
                        .report = "x",
                        .changed_files = {"a.c"}}}};
  EXPECT_EQ(run_bug_rank(bench_, set).error().code, ErrorCode::kNotFound);
}

TEST_F(BugRun, TheModelReadsTheSecondTimeFromItsBlocks) {
  ASSERT_TRUE(test::write_tiny_model(scratch_ / "tiny.gguf", {.seed = 1, .context = 8192}).has_value());
  const auto set = mine_bug_set(repository_.root(), 0);
  ASSERT_TRUE(set.has_value());
  bench_.words_only = false;
  bench_.common.model = scratch_ / "tiny.gguf";
  bench_.common.threads = 1;
  bench_.from_text = true;
  const auto rankings = run_bug_rank(bench_, *set);
  ASSERT_TRUE(rankings.has_value()) << rankings.error().text();
  EXPECT_TRUE(rankings->front().files.front().scores.contains("model"));
  EXPECT_GT(rankings->front().warm_ms, 0);
  EXPECT_GT(rankings->front().text_ms, 0);
  EXPECT_EQ(rank_figures(*rankings, 1).size(), 3U * 4U) << "all, commit-message and named or not";
}

TEST(BugChoices, AreCompared) {
  EXPECT_EQ(mcnemar(0, 0), 1);
  EXPECT_NEAR(mcnemar(5, 0), 0.0625, 1e-9);
  EXPECT_NEAR(mcnemar(1, 4), 0.375, 1e-9);
  const std::vector<BugChoice> choices = {{"a", "full", 6000, true, true, 1000, 1000},
                                          {"a", "none", 6000, false, false, 50, 0},
                                          {"b", "full", 6000, false, true, 2000, 1000},
                                          {"b", "none", 6000, false, true, 100, 0}};
  const auto again = parse_choices(to_line(choices));
  ASSERT_TRUE(again.has_value());
  const auto figures = choice_figures(*again, 1);
  ASSERT_EQ(figures.size(), 2U);
  EXPECT_EQ(figures[0].policy, "full");
  EXPECT_EQ(figures[0].accuracy.mean, 0.5);
  EXPECT_EQ(figures[1].accuracy.mean, 0);
  EXPECT_EQ(figures[1].agreement.mean, 0.5);
  EXPECT_EQ(figures[1].ratio_to_full, 20);
  EXPECT_EQ(figures[1].mcnemar_p, 1);
  EXPECT_FALSE(parse_choices("[[1]]").has_value());
}

TEST_F(BugRun, ChoosesAmongFourFilesAlikeFromBlocks) {
  for (const char* name : {"roof", "wall"})
    repository_.write(std::string("src/") + name + ".c", "int open_it(int x) {\n  return x;\n}\n");
  repository_.commit("more");
  repository_.write("src/window.c", "int open_window(int width) {\n  return width + 2;\n}\n");
  repository_.commit("Fix wrong width again");
  ASSERT_TRUE(test::write_tiny_model(scratch_ / "tiny.gguf", {.seed = 1, .context = 8192}).has_value());
  bench_.common.model = scratch_ / "tiny.gguf";
  bench_.common.threads = 1;
  const auto set = mine_bug_set(repository_.root(), 1);
  ASSERT_TRUE(set.has_value());
  const auto choices = run_bug_choice(bench_, *set, {"exact", "none"});
  ASSERT_TRUE(choices.has_value()) << choices.error().text();
  ASSERT_EQ(choices->size(), 3U);
  EXPECT_TRUE((*choices)[1].agrees) << "exact blocks";
  EXPECT_EQ((*choices)[1].tokens, (*choices)[0].tokens);
}

}  // namespace
}  // namespace kvboost::bench
