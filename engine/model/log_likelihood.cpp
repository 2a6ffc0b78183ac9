// SPDX-License-Identifier: Apache-2.0
#include "engine/model/log_likelihood.h"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <numbers>
#include <vector>

#include "engine/kernels/attention.h"
#include "engine/kernels/parallel.h"

namespace kvboost::engine {
namespace {

/// log2 of a sum of 2^score for each state: near the largest score, and what the others make of it.
struct LogSums {
  explicit LogSums(std::size_t n) : reference(n, kNoReference), weight(n) {}

  void merge(const LogSums& other) {
    for (std::size_t i = 0; i < weight.size(); ++i) {
      const float most = std::max(reference[i], other.reference[i]);
      weight[i] =
          weight[i] * std::exp2(reference[i] - most) + other.weight[i] * std::exp2(other.reference[i] - most);
      reference[i] = most;
    }
  }

  std::vector<float> reference, weight;
};

/// Rows [first, first + n_keys) of the matrix, packed as attention reads keys (kernels/attention.h).
template <class T>
void pack_keys(const Linear<T>& output, std::int32_t first, std::int32_t n_keys, std::span<float> row,
               T* keys) {
  constexpr std::size_t kPair = sizeof(T) == sizeof(BFloat16) ? 2 : 1;
  for (std::int32_t key = 0; key < n_keys; ++key) {
    output.row(first + key, row);
    T* to = keys + key * kPair;
    for (std::size_t i = 0; i < row.size(); i += kPair, to += kPair * kTileCells) {
      for (std::size_t j = 0; j < kPair; ++j) to[j] = narrow<T>(row[i + j]);
    }
  }
}

/// As the kernels see it.
template <class T>
float product(std::span<const T> state, std::span<const float> row) {
  float sum = 0;
  for (std::size_t i = 0; i < row.size(); ++i) sum += to_float(state[i]) * to_float(narrow<T>(row[i]));
  return sum;
}

}  // namespace

template <class T>
bool log_likelihood(const Linear<T>& output, std::span<const float> hidden, std::span<const TokenId> tokens,
                    std::span<float> out, const std::stop_token& stop) {
  const auto width = static_cast<std::size_t>(output.inputs());
  const std::size_t n = tokens.size();
  AlignedBuffer<T> states(n * width);
  std::ranges::transform(hidden, states.data(),
                         [](float value) { return narrow<T>(value * std::numbers::log2e_v<float>); });
  LogSums sums(n);
  std::mutex merging;
  const std::int32_t n_tiles = (output.outputs() + kTileCells - 1) / kTileCells;
  parallel_ranges(n_tiles, 1, [&](std::ptrdiff_t begin, std::ptrdiff_t end) {
    LogSums part(n);
    AlignedBuffer<T> keys(width * kTileCells);
    std::fill_n(keys.data(), keys.size(), T{});  // what a last, shorter tile leaves must be finite
    std::vector<float> row(width);
    for (std::ptrdiff_t tile = begin; tile < end && !stop.stop_requested(); ++tile) {
      const auto first = static_cast<std::int32_t>(tile) * kTileCells;
      const std::int32_t n_keys = std::min(kTileCells, output.outputs() - first);
      pack_keys(output, first, n_keys, std::span(row), keys.data());
      add_exponentials({states.data(), static_cast<std::int32_t>(n), static_cast<std::int32_t>(width),
                        keys.data(), n_keys, part.reference.data(), part.weight.data()});
    }
    const std::lock_guard lock(merging);
    sums.merge(part);
  });
  if (stop.stop_requested()) return false;
  std::vector<float> row(width);
  for (std::size_t i = 0; i < n; ++i) {
    output.row(tokens[i], row);
    const float score = product<T>({states.data() + i * width, width}, row);
    out[i] = (score - sums.reference[i] - std::log2(sums.weight[i])) * std::numbers::ln2_v<float>;
  }
  return true;
}

template bool log_likelihood(const Linear<BFloat16>&, std::span<const float>, std::span<const TokenId>,
                             std::span<float>, const std::stop_token&);
template bool log_likelihood(const Linear<float>&, std::span<const float>, std::span<const TokenId>,
                             std::span<float>, const std::stop_token&);

}  // namespace kvboost::engine
