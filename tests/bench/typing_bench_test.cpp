// SPDX-License-Identifier: Apache-2.0
#include "bench/typing_bench.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/daemon/pipeline/warmer_fixture.h"
#include "tests/support/scratch_tree.h"
#include "tests/support/tiny_model.h"

namespace kvboost::bench {
namespace {

TEST(TypingBench, TypesAFileAndCounts) {
  const test::ScratchTree tree;
  ASSERT_TRUE(test::write_tiny_model(tree / "model.gguf", {.context = 8192}).has_value());
  tree.write("src/a.c", daemon::functions("alpha", 10));
  tree.write("src/b.c", daemon::functions("beta", 3));
  TypingBench bench{
      .common = {}, .repository = tree / "src", .file = "a.c", .keys = 25, .prompt_tokens = 2000};
  bench.common.model = tree / "model.gguf";
  bench.common.compute = engine::ComputeType::kFloat32;
  bench.common.threads = 1;
  const auto figures = run_typing_bench(bench);
  ASSERT_TRUE(figures.has_value()) << figures.error().text();
  EXPECT_EQ(figures->keys, 25);
  EXPECT_LE(figures->computed_tokens, 4) << "a key costs its own tokens";
  EXPECT_GT(figures->prompt_tokens, 500);
  EXPECT_LE(figures->right, figures->lines);
  std::ostringstream out;
  print_typing(out, *figures, true);
  EXPECT_EQ(nlohmann::json::parse(out.str())["keys"], 25);
  bench.keys = 100'000;
  EXPECT_FALSE(run_typing_bench(bench).has_value()) << "the file is not that long";
}

TEST(TypingBench, Percentiles) {
  EXPECT_EQ(percentile({3, 1, 2}, 0.5), 2);
  EXPECT_EQ(percentile({1, 2, 3, 4}, 0.95), 4);
  EXPECT_EQ(percentile({7}, 0.01), 7);
  EXPECT_EQ(percentile({}, 0.5), 0);
}

}  // namespace
}  // namespace kvboost::bench
