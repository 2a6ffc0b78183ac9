// SPDX-License-Identifier: Apache-2.0
#include "bench/warm_bench.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/support/scratch_tree.h"
#include "tests/support/tiny_model.h"

namespace kvboost::bench {
namespace {

class WarmBenchTest : public testing::Test {
 protected:
  WarmBenchTest() {
    EXPECT_TRUE(test::write_tiny_model(tree_ / "model.gguf", {.context = 8192}).has_value());
    bench_.common.model = tree_ / "model.gguf";
    bench_.common.compute = engine::ComputeType::kFloat32;
    bench_.common.threads = 1;
    bench_.repository = tree_ / "src";
    bench_.directory = tree_ / "cache";
  }

  test::ScratchTree tree_;
  WarmBench bench_;
};

TEST_F(WarmBenchTest, ReadsFilesInBothWays) {
  tree_.write("src/a.txt", std::string(3000, 'a') + "\n");
  tree_.write("src/b.txt", std::string(200, 'b') + "\n");
  const auto speed = run_warm_bench(bench_);
  ASSERT_TRUE(speed.has_value()) << speed.error().text();
  EXPECT_EQ(speed->files, 2);
  EXPECT_GT(speed->tokens, 3200);
  EXPECT_GT(speed->bytes, 0U);
  EXPECT_GT(speed->warm_tokens_per_s, 0);
  EXPECT_GT(speed->alone_tokens_per_s, 0);
  std::ostringstream out;
  print_warm_speed(out, *speed, true);
  EXPECT_EQ(nlohmann::json::parse(out.str())["tokens"], speed->tokens);
  EXPECT_TRUE(std::filesystem::is_empty(bench_.directory));
}

TEST_F(WarmBenchTest, NoFilesAreAnError) {
  tree_.write("src/.kvboostignore", "*\n");
  const auto speed = run_warm_bench(bench_);
  ASSERT_FALSE(speed.has_value());
  EXPECT_EQ(speed.error().code, ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace kvboost::bench
