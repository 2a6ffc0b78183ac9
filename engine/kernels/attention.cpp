// SPDX-License-Identifier: Apache-2.0
// How attention is spread over threads: units of (KV head x some query tokens); where these are too few, as
// in decoding, each is split again by tiles and the parts are merged.
#include "engine/kernels/attention.h"

#include <omp.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "engine/kernels/parallel.h"

namespace kvboost::engine {
namespace {

/// Query rows of a unit: enough to pay for passing the keys by, few enough that rows, sums and a tile stay
/// close to the core.
constexpr std::int32_t kUnitRows = 48;

/// A part of a split unit is no shorter than this.
constexpr std::int32_t kLeastTiles = 4;

/// Some tokens' rows of one KV head, token by token, over a range of tiles; and their sums so far.
template <class T>
struct Unit {
  std::int32_t head, first_token, n_tokens;
  std::int32_t tile_begin, tile_end;
  std::vector<float> output, reference, weight;
};

template <class T>
class Attention {
 public:
  explicit Attention(const AttentionCall<T>& call)
      : call_(call), group_(call.n_heads / call.n_kv_heads), head_dim_(call.tiles.head_dim) {}

  void run(const std::stop_token& stop) const {
    auto [units, parts] = plan();
    const auto n_units = static_cast<std::ptrdiff_t>(units.size());
    parallel_items(n_units, [&, parts = parts, units = units.data()](std::ptrdiff_t i) {
      if (stop.stop_requested()) return;
      compute(units[i]);
      if (parts == 1) finish(units[i]);
    });
    if (parts == 1 || stop.stop_requested()) return;
    for (std::ptrdiff_t i = 0; i < n_units; i += parts) {
      for (std::ptrdiff_t part = 1; part < parts; ++part) merge(units[i], units[i + part]);
      finish(units[i]);
    }
  }

 private:
  struct Plan {
    std::vector<Unit<T>> units;
    std::int32_t parts;  // neighbours in `units` that are one unit, split
  };

  Plan plan() const {
    const auto n_tokens = static_cast<std::int32_t>(call_.visible.size());
    const auto stride = std::clamp(kUnitRows / group_, 1, std::max(n_tokens, 1));
    const auto n_units = (n_tokens + stride - 1) / stride * call_.n_kv_heads;
    const auto threads = omp_get_max_threads();
    const auto longest = call_.visible.empty() ? 0 : call_.visible.back().last / kTileCells + 1;
    const auto wanted = threads == 1 ? 1 : (4 * threads + n_units - 1) / std::max(n_units, 1);
    Plan plan{{}, std::clamp(wanted, 1, std::max(1, longest / kLeastTiles))};
    for (std::int32_t token = 0; token < n_tokens; token += stride) {
      const auto count = std::min(stride, n_tokens - token);
      const auto seen = call_.visible.subspan(token, count);
      const auto begin = std::ranges::min(seen, {}, &VisibleCells::first).first / kTileCells;
      const auto end = std::ranges::max(seen, {}, &VisibleCells::last).last / kTileCells + 1;
      for (std::int32_t head = 0; head < call_.n_kv_heads; ++head) {
        for (std::int32_t part = 0; part < plan.parts; ++part) {
          plan.units.push_back({head,
                                token,
                                count,
                                begin + (end - begin) * part / plan.parts,
                                begin + (end - begin) * (part + 1) / plan.parts,
                                {},
                                {},
                                {}});
        }
      }
    }
    return plan;
  }

  /// Where the rows of `unit` that belong to one token begin, in queries and output.
  std::size_t rows_at(const Unit<T>& unit, std::int32_t token) const {
    return (static_cast<std::size_t>(unit.first_token + token) * call_.n_heads +
            static_cast<std::size_t>(unit.head) * group_) *
           head_dim_;
  }

  void compute(Unit<T>& unit) const {
    const auto n_rows = static_cast<std::size_t>(unit.n_tokens) * group_;
    const auto run = static_cast<std::size_t>(group_) * head_dim_;
    std::vector<T> queries(n_rows * head_dim_);
    std::vector<VisibleCells> visible(n_rows);
    for (std::int32_t token = 0; token < unit.n_tokens; ++token) {
      std::copy_n(call_.queries + rows_at(unit, token), run, queries.data() + token * run);
      std::fill_n(visible.data() + token * group_, group_, call_.visible[unit.first_token + token]);
    }
    unit.output.resize(n_rows * head_dim_);
    unit.reference.resize(n_rows);
    unit.weight.resize(n_rows);
    attend({queries.data(), visible.data(), static_cast<std::int32_t>(n_rows), unit.head, call_.tiles,
            unit.tile_begin, unit.tile_end, unit.output.data(), unit.reference.data(), unit.weight.data()});
  }

  void merge(Unit<T>& into, const Unit<T>& from) const {
    for (std::size_t row = 0; row < into.weight.size(); ++row) {
      const float reference = std::max(into.reference[row], from.reference[row]);
      const float scale_into = std::exp2(into.reference[row] - reference);
      const float scale_from = std::exp2(from.reference[row] - reference);
      into.reference[row] = reference;
      into.weight[row] = into.weight[row] * scale_into + from.weight[row] * scale_from;
      float* sum = into.output.data() + row * head_dim_;
      const float* other = from.output.data() + row * head_dim_;
      for (std::int32_t d = 0; d < head_dim_; ++d) sum[d] = sum[d] * scale_into + other[d] * scale_from;
    }
  }

  void finish(const Unit<T>& unit) const {
    for (std::int32_t token = 0; token < unit.n_tokens; ++token) {
      T* out = call_.output + rows_at(unit, token);
      for (std::int32_t g = 0; g < group_; ++g, out += head_dim_) {
        const auto row = static_cast<std::size_t>(token) * group_ + g;
        if (call_.log_weight != nullptr) {
          call_.log_weight[rows_at(unit, token) / head_dim_ + g] =
              unit.reference[row] + std::log2(unit.weight[row]);
        }
        const float scale = 1.0F / unit.weight[row];
        const float* sum = unit.output.data() + row * head_dim_;
        for (std::int32_t d = 0; d < head_dim_; ++d) out[d] = narrow<T>(sum[d] * scale);
      }
    }
  }

  const AttentionCall<T>& call_;
  const std::int32_t group_;
  const std::int32_t head_dim_;
};

}  // namespace

template <class T>
void attention(const AttentionCall<T>& call, const std::stop_token& stop) {
  Attention<T>(call).run(stop);
}

template void attention(const AttentionCall<BFloat16>&, const std::stop_token&);
template void attention(const AttentionCall<float>&, const std::stop_token&);

}  // namespace kvboost::engine
