// SPDX-License-Identifier: Apache-2.0
// What the commands make of the daemon's answers.
#include <gtest/gtest.h>

#include "cli/cmd_ask.h"
#include "cli/cmd_daemon.h"
#include "cli/cmd_doctor.h"
#include "cli/cmd_model.h"
#include "cli/cmd_status.h"
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
  result.files = {{"a.cpp", 1, 90, false, 1200, 800, 3.25}, {"b.h", 1, 5, true, 40, 0, 1}};
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
  const std::string text = explain(result, plain_);
  EXPECT_TRUE(has(text, "a.cpp          1-90   1,200     800   3.25\n")) << text;
  EXPECT_TRUE(has(text, "b.h             all      40       0   1.00\n")) << text;
  EXPECT_TRUE(has(text, "whole prompt          1,300     800\n")) << text;
  EXPECT_TRUE(has(text, "first token  360 ms\n")) << text;
  EXPECT_TRUE(has(text, "42 tokens in 1.0 s, 42.0 tokens/s, ended by end\n")) << text;
}

TEST_F(OutputTest, WhatWasLeftOutIsNamed) {
  std::vector<protocol::AskLeftOut> six;
  for (int i = 0; i < 6; ++i) six.push_back({"f" + std::to_string(i), "does not fit"});
  EXPECT_EQ(left_out_lines(six, false).size(), 6U);  // a line that says "1 more" would be as long
  EXPECT_EQ(left_out_lines(six, false)[0], "left out: f0 (does not fit)");
  six.push_back({"f6", "does not fit"});
  const auto lines = left_out_lines(six, false);
  ASSERT_EQ(lines.size(), 6U);
  EXPECT_EQ(lines[5], "left out: 2 more files (--explain names them)");
  EXPECT_EQ(left_out_lines(six, true).size(), 7U);
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
