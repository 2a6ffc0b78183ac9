// SPDX-License-Identifier: Apache-2.0
// Figures, their two forms, the text that is read, and a peer that is a program of its own.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "bench/measurement.h"
#include "bench/peer.h"
#include "bench/sample_text.h"
#include "tests/support/scratch_tree.h"

namespace kvboost::bench {
namespace {

namespace fs = std::filesystem;

Measurement prefill(std::string engine, double tokens_per_s) {
  return {.engine = std::move(engine),
          .test = "prefill",
          .tokens = 512,
          .depth = 0,
          .tokens_per_s = tokens_per_s,
          .dtype = "bf16",
          .remark = ""};
}

TEST(Median, IsTheMiddle) {
  EXPECT_EQ(median({3, 1, 2}), 2);
  EXPECT_EQ(median({4, 1, 2, 3}), 2.5);
  EXPECT_EQ(median({7}), 7);
}

TEST(MeasurementJson, ComesBackAsItWas) {
  Measurement m = prefill("peer", 608.25);
  m.remark = "flash attention on";
  std::ostringstream out;
  print_json(out, m);
  const auto back = parse_json(out.str());
  ASSERT_TRUE(back) << back.error().text();
  EXPECT_EQ(back->engine, "peer");
  EXPECT_EQ(back->tokens, 512);
  EXPECT_EQ(back->tokens_per_s, 608.25);
  EXPECT_EQ(back->remark, "flash attention on");
}

TEST(MeasurementJson, NonsenseIsNamed) {
  for (const char* line : {"", "hello", "[]", "{\"engine\":\"peer\"}", "{\"engine\":1,\"test\":2}"}) {
    const auto parsed = parse_json(line);
    ASSERT_FALSE(parsed) << line;
    EXPECT_EQ(parsed.error().code, ErrorCode::kProtocol);
    EXPECT_NE(parsed.error().message.find(line), std::string::npos);
  }
}

TEST(Table, SetsThePeerBeside) {
  std::ostringstream out;
  print_table(out, std::vector{prefill("kvboost", 1200), prefill("peer", 600)});
  EXPECT_NE(out.str().find("1200.0"), std::string::npos);
  EXPECT_NE(out.str().find("600.0"), std::string::npos);
  EXPECT_NE(out.str().find("2.00"), std::string::npos);
  std::ostringstream alone;
  print_table(alone, std::vector{prefill("kvboost", 1200)});
  EXPECT_EQ(alone.str().find("2.00"), std::string::npos);
}

TEST(SampleText, JoinsSourcesInTheOrderOfTheirPaths) {
  const test::ScratchTree folder;
  folder.write("b/two.cpp", "two\n");
  folder.write("a/one.h", "one\n");
  folder.write("a/empty.h", "");
  folder.write("a/notes.txt", "not C++\n");
  folder.write("build/made.cpp", "made\n");
  folder.write(".hidden/kept.cpp", "hidden\n");
  const auto text = sample_text(folder.root());
  ASSERT_TRUE(text) << text.error().text();
  EXPECT_EQ(*text, "one\ntwo\n");
  EXPECT_EQ(*sample_text(folder.root() / "a/notes.txt"), "not C++\n");
}

TEST(SampleText, NothingToReadIsAnError) {
  const test::ScratchTree folder;
  EXPECT_EQ(sample_text(folder.root()).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(sample_text(folder.root() / "absent").error().code, ErrorCode::kNotFound);
}

class PeerTest : public testing::Test {
 protected:
  Result<void> run(const std::string& script) {
    EngineBench bench;
    bench.model = "/models/it's a model.gguf";
    folder_.write("peer.sh", script);
    bench.peer = "sh " + (folder_ / "peer.sh").string();
    return run_peer(bench, std::vector<std::int32_t>{5, 6, 7}, 2, "q4_1",
                    [this](const Measurement& m) { seen_.push_back(m); });
  }

  const test::ScratchTree folder_;
  std::vector<Measurement> seen_;
};

TEST_F(PeerTest, GetsTheFlagsAndTheTokenIds) {
  // Answers with what it was given: the model, the threads, and the ids in the file.
  const auto done = run(R"(
    ids=$(cat "$8" | tr -d '\n')
    printf '{"engine":"peer","test":"prefill","tokens":512,"depth":0,"tokens_per_s":1,"dtype":"","remark":"%s %s %s"}\n' \
      "$2" "$4" "$ids")");
  ASSERT_TRUE(done) << done.error().text();
  ASSERT_EQ(seen_.size(), 1U);
  EXPECT_EQ(seen_[0].remark, "/models/it's a model.gguf 2 [5,6,7]");
  EXPECT_EQ(seen_[0].dtype, "q4_1");
}

TEST_F(PeerTest, FailuresAreTold) {
  EXPECT_FALSE(run("exit 3"));
  EXPECT_FALSE(run("exit 0"));  // not a word
  EXPECT_EQ(run("echo what").error().code, ErrorCode::kProtocol);
}

}  // namespace
}  // namespace kvboost::bench
