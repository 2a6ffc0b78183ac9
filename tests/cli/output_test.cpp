// SPDX-License-Identifier: Apache-2.0
// What the commands make of the daemon's answers.
#include <gtest/gtest.h>

#include "cli/cmd_ask.h"
#include "cli/cmd_cache.h"
#include "cli/cmd_daemon.h"
#include "cli/cmd_doctor.h"
#include "cli/cmd_model.h"
#include "cli/cmd_status.h"
#include "cli/cmd_warm.h"
#include "cli/local_checks.h"

namespace kvboost::cli {
namespace {

class OutputTest : public testing::Test {
 protected:
  static bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  }
  Terminal plain_{stdout, "never"};
};

TEST_F(OutputTest, ExplainTellsFilesAndTimes) {
  protocol::AskResult result;
  result.files = {{"a.cpp", 1, 90, false, 1200, 800, 610, 3.25}, {"b.h", 1, 5, true, 40, 0, 0, 1}};
  result.prompt_tokens = 1300;
  result.reused_tokens = 800;
  result.answer_tokens = 42;
  result.finish_reason = "end";
  result.timings = {.lookup_ms = 12,
                    .queue_ms = 0,
                    .prefill_ms = 340,
                    .first_token_ms = 360,
                    .decode_ms = 1000,
                    .tokens_per_second = 42};
  result.repaired_tokens = 48;
  result.policy = "seam:8";
  result.policy_reason = "because";
  result.files.front().repaired = 48;
  const std::string text = explain(result, plain_);
  EXPECT_TRUE(has(text, "a.cpp          1-90   1,200     800     610        48   3.25\n")) << text;
  EXPECT_TRUE(has(text, "b.h             all      40       0       0         0   1.00\n")) << text;
  EXPECT_TRUE(has(text, "whole prompt          1,300     800                48\n")) << text;
  EXPECT_TRUE(has(text, "first token  360 ms, of which other than the above ")) << text;
  EXPECT_TRUE(has(text, "repair       seam:8 (because)\n")) << text;
  EXPECT_TRUE(has(text, "42 tokens in 1.0 s, 42.0 tokens/s, ended by end\n")) << text;
  EXPECT_FALSE(has(text, "found")) << text;  // no chunks were asked for

  result.chunks = {{.path = "a.cpp",
                    .first_line = 1,
                    .last_line = 90,
                    .match = "approximate",
                    .reason = "stored, computed behind other text",
                    .tokens = 610,
                    .repaired = 48,
                    .bytes = 1'000'000,
                    .ms = 12},
                   {.match = "literal", .reason = "text of this request", .tokens = 9, .computed = 9}};
  const std::string chunks = explain(result, plain_);
  EXPECT_TRUE(has(chunks, "stored, computed behind other text\n")) << chunks;
  EXPECT_TRUE(has(chunks, "(prompt)")) << chunks;
}

TEST_F(OutputTest, WhatWasLeftOutIsNamed) {
  std::vector<protocol::AskLeftOut> items = {{"a.cpp", "lines 1 to 9 did not fit"}, {"b.cpp", "is binary"}};
  EXPECT_EQ(left_out_lines(items, false),
            (std::vector<std::string>{"left out: a.cpp (lines 1 to 9 did not fit)",
                                      "left out: b.cpp (is binary)"}));
  items.push_back({"a.cpp", "lines 20 to 40 did not fit"});
  EXPECT_EQ(left_out_lines(items, false),
            std::vector<std::string>{"left out: a.cpp, b.cpp (`--explain` tells why)"});
  EXPECT_EQ(left_out_lines(items, true).size(), 3U);
  for (int i = 0; i < 9; ++i) items.push_back({"f" + std::to_string(i), "did not fit"});
  EXPECT_EQ(left_out_lines(items, false),
            std::vector<std::string>{
                "left out: a.cpp, b.cpp, f0, f1, f2, f3, f4, f5 and 3 more files (`--explain` tells why)"});
}

TEST_F(OutputTest, ProgressNamesTheStage) {
  EXPECT_EQ(progress_text({"loading", 40, 100}), "loading the model 40 %");
  EXPECT_EQ(progress_text({"prefill", 1024, 6200}), "reading the prompt 1,024 of 6,200 tokens");
  EXPECT_EQ(progress_text({"something new", 0, 0}), "something new");
}

TEST_F(OutputTest, StatusLeavesOutWhatIsUnknown) {
  protocol::StatusResult status;
  status.state = "idle";
  status.prompt_tokens = 2000;
  status.reused_tokens = 500;
  const std::string text = status_text(status, plain_);
  EXPECT_TRUE(has(text, "none set")) << text;
  EXPECT_TRUE(has(text, "2,000, 500 of them reused (25.0 %)")) << text;
  EXPECT_FALSE(has(text, "model error")) << text;
  EXPECT_FALSE(has(text, "compute")) << text;
}

TEST_F(OutputTest, StatusTellsOfTheCacheAndOfWarming) {
  protocol::StatusResult status;
  status.resident_bytes = 200'000'000;
  status.weight_bytes = 100'000'000;
  status.live_kv_bytes = 20'000'000;
  status.cached_kv_bytes = 3'000'000;
  protocol::CacheTier& disk = status.tiers.emplace_back();
  disk.name = "disk";
  disk.problem = "the disk is full";
  status.reuse = {40, 3, 1900};
  EXPECT_FALSE(has(status_text(status, plain_), "warming"));
  status.warming = {"/r\x1b", 3, 17, 812.5};
  const std::string text = status_text(status, plain_);
  EXPECT_TRUE(has(
      text, "weights 100 MB, live KV 20.0 MB in 0 sequences, cached KV 3.0 MB, scratch and other 77.0 MB\n"))
      << text;
  EXPECT_TRUE(has(text, "40 exact, 3 approximate, 1,900 missed\n")) << text;
  EXPECT_TRUE(has(text, "cache: disk")) << text;
  EXPECT_TRUE(has(text, ": the disk is full\n")) << text;
  EXPECT_TRUE(has(text, "/r\\x1b, 3 of 17 files, 812 tokens/s\n")) << text;
  EXPECT_FALSE(has(text, "to be written")) << text;
}

TEST_F(OutputTest, StatusNamesRepositoriesAndWhyTheyAreNotWatchedOnce) {
  protocol::StatusResult status;
  status.repositories = {{"/a", "main", "a94a8fe5ccb19ba61c4c0873d391e987982fbbd3", 3, ""},
                         {"/b", "", "", 0, "files are not watched (why)"},
                         {"/c", "", "", 0, "files are not watched (why)"}};
  const std::string text = status_text(status, plain_);
  EXPECT_TRUE(has(text, "/a, main at a94a8fe5ccb1, 3 folders watched\n")) << text;
  EXPECT_TRUE(has(text, "/b\n")) << text;
  const auto first = text.find("(why)");
  ASSERT_NE(first, std::string::npos) << text;
  EXPECT_EQ(text.find("(why)", first + 1), std::string::npos) << text;
}

TEST_F(OutputTest, TiersNameOnlyTheFailuresThatThereWere) {
  protocol::CacheTier tier;
  tier.used = 90'000'000;
  tier.limit = 2'000'000'000;
  tier.records = 1;
  tier.hits = 40;
  EXPECT_EQ(tier_text(tier), "90.0 MB of 2.0 GB, 1 record, 40 hits, 0 missed, 0 evicted");
  tier.name = "memory";
  EXPECT_TRUE(has(tier_text(tier), "90.0 MB of 2.0 GB (within max_memory), 1 record"));
  tier.name = "disk";
  EXPECT_TRUE(has(tier_text(tier), "90.0 MB of 2.0 GB (max_disk), 1 record"));
  tier.corrupt = 2;
  tier.failures = 1;
  EXPECT_TRUE(has(tier_text(tier), ", 2 corrupt, 1 failure")) << tier_text(tier);
}

TEST_F(OutputTest, WarmingHasABarAndTheTimeThatIsLeft) {
  protocol::WarmProgress progress;
  progress.stage = "warming";
  progress.files_done = 3;
  progress.files = 17;
  progress.tokens_done = 6000;
  progress.tokens = 24'000;
  progress.bytes = 240'000'000;
  EXPECT_EQ(warm_progress_text(progress), "[##......] 3/17 files, 6.0 k/24.0 k tokens, 240 MB");
  progress.tokens_per_second = 900;
  EXPECT_EQ(warm_progress_text(progress),
            "[##......] 20.0 s left, 3/17 files, 6.0 k/24.0 k tokens at 900/s, 240 MB");
  progress.tokens_done = 30'000;  // more than was thought
  EXPECT_TRUE(has(warm_progress_text(progress), "[########] "));
  progress.stage = "reading";
  EXPECT_EQ(warm_progress_text(progress), "looking at files 3/17 files");
  progress.stage = "trying";
  progress.percent = 40;
  EXPECT_TRUE(has(warm_progress_text(progress), "trying")) << warm_progress_text(progress);
  EXPECT_TRUE(has(warm_progress_text(progress), "40 %")) << warm_progress_text(progress);
}

TEST_F(OutputTest, WarmSaysWhatItDid) {
  protocol::WarmResult result;
  EXPECT_EQ(warm_summary(result), "there is nothing to warm\n");
  result.files = 1;
  result.chunks = 12;
  result.tokens = 2400;
  EXPECT_EQ(warm_summary(result), "1 file, 12 chunks (2,400 tokens): all there already\n");
  result.computed_chunks = 1;
  result.computed_tokens = 200;
  result.seconds = 2;
  result.tokens_per_second = 100;
  result.stored_bytes = 9'200'000;
  result.later_chunks = 1;
  const std::string text = warm_summary(result);
  EXPECT_TRUE(has(text, ": 1 chunk (200 tokens) computed in 2.0 s, 100 tokens/s, 9.2 MB stored\n")) << text;
  EXPECT_TRUE(has(text, "1 chunk stands behind an older left context")) << text;
  result.dry_run = true;
  EXPECT_TRUE(has(warm_summary(result), ": 1 chunk (200 tokens) would be computed\n"));
  result.background = true;
  EXPECT_TRUE(has(warm_summary(result), "1 file is being warmed in the background"));
}

TEST_F(OutputTest, CacheTellsTiersModelsAndRepositories) {
  protocol::CacheStatsResult stats;
  EXPECT_TRUE(has(cache_text(stats, plain_), "0 exact, 0 approximate, 0 missed"));
  stats.models = {{std::string(64, 'a'), "/m/a.gguf", true, 96, 1'050'000'000},
                  {std::string(64, 'b'), "", false, 1, 1000}};
  stats.roots = {{"/r", 17, 96, 1'050'000'000, {"", "net"}}};
  const std::string text = cache_text(stats, plain_);
  EXPECT_TRUE(has(text, "aaaaaaaaaaaa       96  1.1 GB  /m/a.gguf (in use)\n")) << text;
  EXPECT_TRUE(has(text, "unknown\n")) << text;
  EXPECT_TRUE(has(text, "17      96  1.1 GB  ., net\n")) << text;
}

TEST_F(OutputTest, ChunksThatAreAbsentShowNothingElse) {
  protocol::CacheInspectResult file;
  protocol::CacheChunk there;
  there.first_line = 1;
  there.last_line = 42;
  there.tokens = 310;
  there.content = std::string(64, 'c');
  there.prefix = std::string(64, 'd');
  there.where = "memory";
  there.bytes = 14'284'800;
  there.codec = "bf16";
  there.left = "older";
  there.rebuild_ms = 380;
  protocol::CacheChunk absent;
  absent.first_line = 43;
  absent.last_line = 50;
  absent.where = "absent";
  file.chunks = {there, absent};
  const std::string text = chunks_text(file, plain_);
  EXPECT_TRUE(has(text, " 1-42     310  memory  14.3 MB  bf16   older")) << text;
  EXPECT_TRUE(has(text, "43-50       0  absent\n")) << text;
}

TEST_F(OutputTest, ModelsThatCannotBeUsedSayWhy) {
  const std::string text = models_text({{.path = "/m/good.gguf",
                                         .name = "good",
                                         .origin = "kvboost",
                                         .architecture = "llama",
                                         .quantisation = "Q4_1",
                                         .bytes = 98'362'432,
                                         .in_use = true,
                                         .problem = ""},
                                        {.path = "/m/bad.gguf",
                                         .name = "bad",
                                         .origin = "added",
                                         .architecture = "",
                                         .quantisation = "",
                                         .bytes = 3,
                                         .in_use = false,
                                         .problem = "too\x1b short"}},
                                       plain_);
  EXPECT_TRUE(has(text, "*  good  llama Q4_1")) << text;
  EXPECT_TRUE(has(text, "98.4 MB")) << text;
  EXPECT_TRUE(has(text, "\nbad: too\\x1b short\n")) << text;
}

TEST_F(OutputTest, DoctorShowsRemedies) {
  const std::string text =
      checks_text({{"CPU", kOk, "fast", ""}, {"disk", kWarning, "nearly full", "tidy up"}}, plain_);
  EXPECT_EQ(text, "ok        CPU: fast\nwarning   disk: nearly full\n          tidy up\n");
}

TEST_F(OutputTest, CpuVerdicts) {
  CpuFeatures cpu;
  cpu.x86 = true;
  EXPECT_EQ(check_cpu(cpu).verdict, kWarning);
  EXPECT_NE(check_cpu(cpu).remedy, "");
  cpu.avx2 = cpu.fma = cpu.f16c = true;
  EXPECT_TRUE(has(check_cpu(cpu).detail, "f32"));
  EXPECT_EQ(check_cpu(cpu).verdict, kOk);
  cpu.avx512_bf16 = true;
  EXPECT_TRUE(has(check_cpu(cpu).detail, "bf16 in hardware"));
  cpu.amx_bf16 = true;
  EXPECT_TRUE(has(check_cpu(cpu).detail, "tiles"));
}

TEST_F(OutputTest, LastLines) {
  EXPECT_EQ(last_lines("a\nb\nc\n", 2), "b\nc\n");
  EXPECT_EQ(last_lines("a\nb\nc", 2), "b\nc");
  EXPECT_EQ(last_lines("a\nb\n", 5), "a\nb\n");
  EXPECT_EQ(last_lines("", 5), "");
  EXPECT_EQ(last_lines("\n", 1), "\n");
  EXPECT_EQ(last_lines("a\n", 0), "");
}

}  // namespace
}  // namespace kvboost::cli
