// SPDX-License-Identifier: Apache-2.0
// Both attention kernels against plain softmax(q k) v in double, over head sizes, groups, depths, windows,
// split and unsplit units, and cells that are not there yet.
#include "engine/kernels/attention.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>
#include <random>
#include <vector>

#include "engine/cpu.h"
#include "engine/kernels/attention_share.h"
#include "engine/kv/sequence_kv.h"
#include "tests/engine/kernels/each_target.h"

namespace kvboost::engine {
namespace {

struct Case {
  std::int32_t n_heads, n_kv_heads, head_dim;
  std::int32_t depth;  // cells before the first query
  std::int32_t n_tokens;
  std::int32_t window;  // 0: none
  float spread = 1.0F;  // of keys: large ones make sharp softmaxes
};

const Case kCases[] = {
    {9, 3, 64, 0, 1, 0},           {9, 3, 64, 0, 70, 0},          {9, 3, 64, 1000, 37, 0},
    {9, 3, 64, 1000, 1, 0},        {4, 4, 80, 130, 9, 0},         {8, 1, 96, 63, 65, 0},
    {4, 2, 128, 200, 20, 0},       {2, 1, 256, 90, 40, 0},        {4, 2, 16, 511, 3, 0},
    {9, 3, 64, 700, 80, 100},      {9, 3, 64, 700, 1, 64},        {4, 2, 64, 300, 130, 1},
    {9, 3, 64, 500, 20, 0, 40.0F}, {9, 3, 64, 2000, 1, 0, 40.0F},
};

template <class T>
void compare(const Case& c, double tolerance) {
  std::mt19937 random(7);
  std::normal_distribution<float> normal;
  const KvShape shape{1, c.n_kv_heads, c.head_dim};
  const std::int32_t n_cells = c.depth + c.n_tokens;
  const auto row = static_cast<std::size_t>(c.n_kv_heads) * c.head_dim;
  const auto draw = [&](std::size_t count, float scale) {
    std::vector<T> values(count);
    for (T& value : values) value = narrow<T>(normal(random) * scale);
    return values;
  };
  const auto keys = draw(n_cells * row, c.spread);
  const auto values = draw(n_cells * row, 1.0F);
  const float scale = std::numbers::log2e_v<float> / std::sqrt(static_cast<float>(c.head_dim));
  const auto queries = draw(static_cast<std::size_t>(c.n_tokens) * c.n_heads * c.head_dim, scale);

  SequenceKv kv(shape, sizeof(T));
  kv.prepare(n_cells);
  const auto tiles = kv.tiles<T>(0);
  for (std::int32_t cell = 0; cell < n_cells; ++cell) {
    for (std::int32_t head = 0; head < c.n_kv_heads; ++head) {
      const auto at = cell * row + static_cast<std::size_t>(head) * c.head_dim;
      write_cell<T>(tiles, head, cell, keys.data() + at, values.data() + at);
    }
  }
  std::vector<VisibleCells> visible;
  for (std::int32_t i = 0; i < c.n_tokens; ++i) {
    const std::int32_t cell = c.depth + i;
    visible.push_back({c.window == 0 ? 0 : std::max(0, cell - c.window + 1), cell});
  }
  std::vector<T> output(queries.size());
  std::vector<float> log_weight(static_cast<std::size_t>(c.n_tokens) * c.n_heads);
  const AttentionCall<T> call{queries.data(), visible,          tiles, c.n_heads, c.n_kv_heads,
                              output.data(),  log_weight.data()};
  attention<T>(call, {});
  std::vector<float> shares(c.depth);
  add_shares<T>(call, shares);

  double worst = 0.0;
  std::vector<double> expected_shares(n_cells);
  std::vector<double> weights(n_cells);
  for (std::int32_t i = 0; i < c.n_tokens; ++i) {
    for (std::int32_t h = 0; h < c.n_heads; ++h) {
      const T* query = queries.data() + (static_cast<std::size_t>(i) * c.n_heads + h) * c.head_dim;
      const auto head = static_cast<std::size_t>(h / (c.n_heads / c.n_kv_heads)) * c.head_dim;
      double largest = -1e300, sum = 0.0;
      for (std::int32_t cell = visible[i].first; cell <= visible[i].last; ++cell) {
        weights[cell] = 0.0;
        for (std::int32_t d = 0; d < c.head_dim; ++d) {
          weights[cell] += static_cast<double>(to_float(query[d])) * to_float(keys[cell * row + head + d]);
        }
        largest = std::max(largest, weights[cell]);
      }
      for (std::int32_t cell = visible[i].first; cell <= visible[i].last; ++cell) {
        weights[cell] = std::exp2(weights[cell] - largest);
        sum += weights[cell];
      }
      for (std::int32_t cell = visible[i].first; cell <= visible[i].last; ++cell) {
        expected_shares[cell] += weights[cell] / sum;
      }
      for (std::int32_t d = 0; d < c.head_dim; ++d) {
        double expected = 0.0;
        for (std::int32_t cell = visible[i].first; cell <= visible[i].last; ++cell) {
          expected += weights[cell] / sum * to_float(values[cell * row + head + d]);
        }
        const T got = output[(static_cast<std::size_t>(i) * c.n_heads + h) * c.head_dim + d];
        worst = std::max(worst, std::abs(expected - to_float(got)));
        ASSERT_FALSE(std::isnan(to_float(got)));
      }
    }
  }
  for (std::int32_t cell = 0; cell < c.depth; ++cell) {
    EXPECT_NEAR(shares[cell], expected_shares[cell], 1e-3 * c.spread) << "cell " << cell;
  }
  EXPECT_LT(worst, tolerance * c.spread)
      << c.n_heads << "/" << c.n_kv_heads << " heads of " << c.head_dim << ", depth " << c.depth << ", "
      << c.n_tokens << " tokens, window " << c.window;
}

/// Some tiles of keys, the last one not full, that come by one after the other.
template <class T>
void compare_log_sums(std::int32_t n_rows, std::int32_t width, float spread, double tolerance) {
  constexpr std::int32_t kKeys = 3 * kTileCells + 5;
  constexpr std::size_t kPair = sizeof(T) == sizeof(BFloat16) ? 2 : 1;
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  std::vector<T> queries(static_cast<std::size_t>(n_rows) * width),
      keys(static_cast<std::size_t>(kKeys) * width);
  for (T& value : queries) value = narrow<T>(normal(random) * spread / std::sqrt(static_cast<float>(width)));
  for (T& value : keys) value = narrow<T>(normal(random));
  std::vector<float> reference(n_rows, kNoReference), weight(n_rows);
  for (std::int32_t first = 0; first < kKeys; first += kTileCells) {
    const std::int32_t n_keys = std::min(kTileCells, kKeys - first);
    std::vector<T> tile(static_cast<std::size_t>(kTileCells) * width, narrow<T>(99.0F));
    for (std::int32_t key = 0; key < n_keys; ++key) {
      for (std::int32_t d = 0; d < width; ++d)
        tile[(d / kPair * kTileCells + key) * kPair + d % kPair] = keys[(first + key) * width + d];
    }
    add_exponentials({queries.data(), n_rows, width, tile.data(), n_keys, reference.data(), weight.data()});
  }
  for (std::int32_t row = 0; row < n_rows; ++row) {
    double sum = 0;
    for (std::int32_t key = 0; key < kKeys; ++key) {
      double score = 0;
      for (std::int32_t d = 0; d < width; ++d)
        score += static_cast<double>(to_float(queries[row * width + d])) * to_float(keys[key * width + d]);
      sum += std::exp2(score);
    }
    EXPECT_NEAR(reference[row] + std::log2(weight[row]), std::log2(sum), tolerance)
        << n_rows << " rows of " << width << ", row " << row;
  }
}

constexpr std::pair<std::int32_t, std::int32_t> kLogSums[] = {{1, 16}, {6, 576}, {17, 80}, {300, 64}};

using AttentionF32 = test::EachTarget;
INSTANTIATE_TEST_SUITE_P(Targets, AttentionF32, ::testing::ValuesIn(test::targets_here()), test::target_name);

TEST_P(AttentionF32, EqualsPlainSoftmax) {
  for (const Case& c : kCases) compare<float>(c, 1e-5);
}

TEST_P(AttentionF32, SumsExponentials) {
  for (const auto& [rows, width] : kLogSums) {
    compare_log_sums<float>(rows, width, 1.0F, 1e-4);
    compare_log_sums<float>(rows, width, 30.0F, 1e-4);
  }
}

TEST(AttentionBf16, SumsExponentials) {
  if (!has_bfloat16()) GTEST_SKIP() << "this CPU has no AVX512-BF16";
  for (const auto& [rows, width] : kLogSums) {
    compare_log_sums<BFloat16>(rows, width, 1.0F, 1e-4);
    compare_log_sums<BFloat16>(rows, width, 30.0F, 1e-4);
  }
}

TEST(AttentionBf16, EqualsPlainSoftmaxWithinBfloat16) {
  if (!has_bfloat16()) GTEST_SKIP() << "this CPU has no AVX512-BF16";
  // Weights and results are rounded to 8 bits; values are about 1.
  for (const Case& c : kCases) compare<BFloat16>(c, 0.02);
}

TEST(Attention, GivesUpWhenStopped) {
  const KvShape shape{1, 1, 16};
  SequenceKv kv(shape, sizeof(float));
  kv.prepare(1);
  std::stop_source stop;
  stop.request_stop();
  const std::vector<float> queries(16, 1.0F);
  std::vector<float> output(16, 5.0F);
  const std::vector<VisibleCells> visible{{0, 0}};
  attention<float>({queries.data(), visible, kv.tiles<float>(0), 1, 1, output.data()}, stop.get_token());
  EXPECT_EQ(output[0], 5.0F);
}

}  // namespace
}  // namespace kvboost::engine
