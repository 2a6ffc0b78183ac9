// SPDX-License-Identifier: Apache-2.0
// Rankers on a real tree, the model's with a tiny random model: what it says is no good, but it must say the
// same from stored blocks as from text, and compute nothing twice.
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>

#include "daemon/pipeline/locate_run.h"
#include "daemon/pipeline/model_ranker.h"
#include "daemon/pipeline/words_ranker.h"
#include "tests/daemon/pipeline/warmer_fixture.h"

namespace kvboost::daemon {
namespace {

class Locate : public WarmerTest {
 protected:
  Locate() {
    tree_.write("net/retry.c", function("count_retries", "retry + limit") + function("reset_retries"));
    tree_.write("net/pool.c", function("take_connection") + function("give_back"));
    tree_.write("tests/retry.c", function("count_retries", "retry + limit + 1"));
    EXPECT_TRUE(repository_->refresh({}).has_value());
  }

  [[nodiscard]] RankJob job(const Report& report) const {
    return {.repository = *repository_, .report = report};
  }

  std::vector<Suspect> by_words(const Report& report, FileFilter wanted = {}) {
    RankJob wanted_job = job(report);
    wanted_job.wanted = std::move(wanted);
    std::vector<Suspect> suspects;
    EXPECT_TRUE(WordsRanker(100).rank(wanted_job, suspects).has_value());
    return suspects;
  }

  struct Read {
    std::vector<Suspect> suspects;
    ModelRanker::Counts counts;
    Result<void> outcome;
  };
  Read by_model(const RankJob& model_job, std::vector<Suspect> suspects, bool reuse,
                const ModelRanker::Limits& limits = {}) {
    auto lease = daemon_->host.acquire({}, {});
    LoadedModel& model = **lease;
    std::optional<Reuse> stored;
    if (reuse) stored = Reuse{&daemon_->blocks, model.names->model, model.names->context};
    ModelRanker ranker(daemon_->engine_thread, model, stored, limits);
    Read read{std::move(suspects), {}, {}};
    read.outcome = ranker.rank(model_job, read.suspects);
    read.counts = ranker.counts();
    return read;
  }

  const Report everywhere_ = read_report("the value and the result of alpha1 retry");
  const Report report_ = read_report("count_retries gives too much\nThe retry limit is one off.\n");
};

TEST_F(Locate, WordsPutTheFileFirstThatHasThem) {
  const auto suspects = by_words(report_);
  ASSERT_GE(suspects.size(), 2U);
  EXPECT_TRUE(suspects[0].path.ends_with("retry.c"));
  const auto fixable = by_words(report_, [](const std::string& path) { return !path.starts_with("tests/"); });
  EXPECT_EQ(fixable[0].path, "net/retry.c");
  EXPECT_FALSE(fixable[0].spans.empty());
  for (const Suspect& suspect : fixable) EXPECT_FALSE(suspect.path.starts_with("tests/"));
}

TEST_F(Locate, AFileThatTheReportNamesIsFoundWithItsLine) {
  const auto suspects = by_words(read_report("zzz\n  File \"C:\\build\\net\\pool.c\", line 4, in x\n"));
  ASSERT_FALSE(suspects.empty());
  EXPECT_EQ(suspects[0].path, "net/pool.c");
  EXPECT_EQ(suspects[0].named_line, 4);
}

TEST_F(Locate, OfFilesWithOneNameThePathDecides) {
  const auto suspects = by_words(read_report("net/retry.c:3 is wrong"));
  ASSERT_FALSE(suspects.empty());
  EXPECT_EQ(suspects[0].path, "net/retry.c");
  for (const Suspect& suspect : suspects) {
    if (suspect.path == "tests/retry.c") {
      EXPECT_EQ(suspect.named_line, 0);
    }
  }
}

TEST_F(Locate, NothingIsFoundForAReportWithoutKnownWords) {
  EXPECT_TRUE(by_words(read_report("")).empty());
  EXPECT_TRUE(by_words(read_report("\x01\x02 qqqq 保存")).empty());
}

TEST_F(Locate, TheModelComputesNothingTwice) {
  const auto suspects = by_words(report_);
  const Read first = by_model(job(report_), suspects, true);
  ASSERT_TRUE(first.outcome.has_value()) << first.outcome.error().text();
  EXPECT_EQ(first.counts.files, std::ssize(suspects));
  EXPECT_GT(first.counts.computed_tokens, 0);
  daemon_->blocks.flush();
  const Read second = by_model(job(report_), suspects, true);
  EXPECT_EQ(second.counts.computed_tokens, 0);
  EXPECT_GT(second.counts.placed_tokens, 0);
  for (std::size_t i = 0; i < suspects.size(); ++i)
    EXPECT_EQ(first.suspects[i].scores.at("model"), second.suspects[i].scores.at("model"));
}

TEST_F(Locate, OneChunkSaysTheSameFromItsBlockAsFromText) {
  tree_.write("net/retry.c", function("count_retries", "retry + limit"));
  ASSERT_TRUE(repository_->refresh({}).has_value());
  const auto suspects = by_words(report_, [](const std::string& path) { return path == "net/retry.c"; });
  ASSERT_EQ(suspects.size(), 1U);
  const Read stored = by_model(job(report_), suspects, true);
  const Read again = by_model(job(report_), suspects, true);
  const Read fresh = by_model(job(report_), suspects, false);
  EXPECT_EQ(fresh.counts.placed_tokens, 0);
  EXPECT_NEAR(stored.suspects[0].scores.at("model"), fresh.suspects[0].scores.at("model"), 0.02);
  EXPECT_NEAR(again.suspects[0].scores.at("model"), fresh.suspects[0].scores.at("model"), 0.02);
}

TEST_F(Locate, FilesThatAreReadTogetherSayTheSameAsOneByOne) {
  const auto suspects = by_words(everywhere_);
  ASSERT_GE(suspects.size(), 3U);
  ASSERT_TRUE(by_model(job(everywhere_), suspects, true).outcome.has_value());
  daemon_->blocks.flush();  // from here on both read the same blocks
  const Read together = by_model(job(everywhere_), suspects, true);
  const Read alone = by_model(job(everywhere_), suspects, true, {.together = 1});
  EXPECT_EQ(alone.counts.files, together.counts.files);
  EXPECT_EQ(alone.counts.placed_tokens, together.counts.placed_tokens);
  for (std::size_t i = 0; i < suspects.size(); ++i)
    EXPECT_NEAR(alone.suspects[i].scores.at("model"), together.suspects[i].scores.at("model"), 1e-4);
}

TEST_F(Locate, TheModelReadsNoMoreThanItMay) {
  const auto suspects = by_words(report_);
  ASSERT_GE(suspects.size(), 2U);
  const Read one = by_model(job(report_), suspects, true, {.files = 1});
  EXPECT_EQ(one.counts.files, 1);
  EXPECT_FALSE(one.suspects[1].scores.contains("model"));
  RankJob late = job(report_);
  late.deadline = std::chrono::steady_clock::now();
  const Read none = by_model(late, suspects, true);
  EXPECT_TRUE(none.outcome.has_value()) << "no time is no failure";
  EXPECT_EQ(none.counts.files, 0);
}

TEST_F(Locate, ACancelledOneSaysSo) {
  std::stop_source stop;
  RankJob stopped = job(report_);
  stopped.stop = stop.get_token();
  stopped.progress = [&](std::int64_t done, std::int64_t) {
    if (done == 1) stop.request_stop();
  };
  const Read read = by_model(stopped, by_words(report_), true, {.together = 1});
  ASSERT_FALSE(read.outcome.has_value());
  EXPECT_EQ(read.outcome.error().code, ErrorCode::kCancelled);
}

TEST_F(Locate, AMoreUrgentJobDoesNotWaitForAllFiles) {
  std::atomic<std::int64_t> files_before = -1;
  RankJob watched = job(report_);
  std::int64_t begun = 0;
  watched.progress = [&](std::int64_t done, std::int64_t) {
    begun = done;
    if (done == 1) {
      daemon_->engine_thread.submit(
          Priority::kCompletion,
          {.run = [&] { files_before = begun; }, .drop = [](const Error&) {}, .stop = {}});
    }
  };
  const auto suspects = by_words(everywhere_);
  ASSERT_GE(suspects.size(), 3U);
  ASSERT_TRUE(by_model(watched, suspects, true, {.together = 1}).outcome.has_value());
  EXPECT_GE(files_before, 0);
  EXPECT_LT(files_before, std::ssize(suspects));
}

/// Says that the last one is it.
class Contrary : public Ranker {
 public:
  [[nodiscard]] std::string_view name() const override { return "contrary"; }
  [[nodiscard]] Result<void> rank(const RankJob&, std::vector<Suspect>& suspects) override {
    for (std::size_t i = 0; i < suspects.size(); ++i)
      suspects[i].scores.emplace(name(), i + 1 == suspects.size() ? 1'000.0 : 0.0);
    return {};
  }
};

TEST_F(Locate, EachRankerMovesTheRanking) {
  LocateRun run(job(everywhere_));
  WordsRanker words(100);
  ASSERT_TRUE(run.apply(words).has_value());
  const std::string first = run.suspects().front().path;
  const std::string last = run.suspects().back().path;
  ASSERT_NE(first, last);
  Contrary contrary;
  ASSERT_TRUE(run.apply(contrary).has_value());
  EXPECT_NE(run.suspects().back().path, last);
  EXPECT_EQ(run.suspects().front().scores.size(), 2U);
}

}  // namespace
}  // namespace kvboost::daemon
