// SPDX-License-Identifier: Apache-2.0
// A decoder, read from top to bottom: embed, then for each layer norm, attention, add, norm, gated
// feed-forward, add; then norm and output. The residual stream is float32; what matrices multiply is T.
#include "engine/model/transformer.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <type_traits>
#include <utility>

#include "engine/kernels/attention_share.h"
#include "engine/kernels/elementwise.h"
#include "engine/kernels/parallel.h"
#include "engine/kernels/rope.h"
#include "engine/model/log_likelihood.h"
#include "engine/model/matmul.h"
#include "engine/model/weights.h"

namespace kvboost::engine {
namespace {

/// Tokens that are worth a thread in the small steps.
constexpr std::ptrdiff_t kTokenGrain = 8;
template <class T>
class TypedTransformer final : public Transformer {
 public:
  TypedTransformer(const ModelSpec& spec, Weights<T> weights)
      : spec_(spec),
        weights_(std::move(weights)),
        rope_(spec.rope),
        local_rope_(local_rope(spec)),
        query_width_(spec.n_heads * spec.head_dim),
        key_width_(spec.n_kv_heads * spec.head_dim),
        qkv_width_(query_width_ + 2 * key_width_),
        most_tokens_(block_size(spec)),
        stream_(buffer<float>(spec.width)),
        normed_(buffer<T>(spec.width)),
        qkv_(buffer<T>(qkv_width_)),
        queries_(buffer<T>(query_width_)),
        attended_(buffer<T>(query_width_)),
        gate_up_(buffer<T>(2 * spec.feed_forward)),
        gated_(buffer<T>(spec.feed_forward)),
        projected_(buffer<T>(spec.width)) {}

  std::int32_t most_tokens() const override { return most_tokens_; }
  std::uint64_t weight_bytes() const override { return weights_.bytes(); }
  SequenceKv new_kv() const override { return {spec_.kv_shape(), sizeof(T)}; }

  bool forward(const Input& input) override {
    const std::vector<LaneRows> lanes = begin_lanes(input.lanes);
    const std::int32_t n = lanes.back().first + static_cast<std::int32_t>(lanes.back().cells.size());
    const std::int32_t rows = product_rows(n);
    std::vector<float> log_weight(input.share != nullptr ? n * spec_.n_heads : 0);
    const std::int32_t end_layer = input.end_layer > 0 ? input.end_layer : spec_.n_layers;
    for (std::int32_t l = 0; l < end_layer; ++l) {
      const LayerWeights<T>& layer = weights_.layers[l];
      if (input.stop.stop_requested()) return false;
      norm(layer.attention_norm, n);
      layer.qkv.multiply(normed_.data(), rows, qkv_.data());
      finish_heads(layer, n);
      if (input.capture != nullptr) capture(l, n, *input.capture, input.capture_at);
      const bool compared = input.deviation != nullptr && l == input.deviation->layer;
      if (compared) compare_values(lanes.front(), *input.deviation);
      for (const LaneRows& lane : lanes) rotate_heads(lane, l);
      if (compared) break;
      const bool shared = input.share != nullptr && l >= input.share->first_layer;
      for (const LaneRows& lane : lanes) {
        const AttentionCall<T> call{row(queries_, lane.first),
                                    slides(l) ? lane.window : lane.everything,
                                    lane.kv->template tiles<T>(l),
                                    spec_.n_heads,
                                    spec_.n_kv_heads,
                                    row(attended_, lane.first),
                                    shared ? log_weight.data() : nullptr};
        attention<T>(call, input.stop);
        if (shared) add_shares<T>(call, input.share->of_cell);
      }
      if (l + 1 == input.end_layer) break;  // what comes behind would not be looked at
      if (input.stop.stop_requested()) return false;
      layer.output.multiply(attended_.data(), rows, projected_.data());
      add_to_stream(layer.post_attention_norm, n);
      norm(layer.feed_forward_norm, n);
      layer.gate_up.multiply(normed_.data(), rows, gate_up_.data());
      activate(n);
      layer.down.multiply(gated_.data(), rows, projected_.data());
      add_to_stream(layer.post_feed_forward_norm, n);
    }
    return true;
  }

  /// Float32 throughout: rounded logits would show in scores.
  void logits(std::int32_t first, std::int32_t count, float* out) override {
    const auto width = static_cast<std::size_t>(spec_.width);
    AlignedBuffer<float> hidden(count * width);
    for (std::int32_t i = 0; i < count; ++i) output_norm(first + i, hidden.data() + i * width);
    if (count == 1) return weights_.output().multiply_row({hidden.data(), width}, out);
    constexpr std::int32_t kSlice = 2048;  // of the vocabulary
    AlignedBuffer<float> slice(kSlice * width);
    for (std::int32_t at = 0; at < spec_.vocabulary; at += kSlice) {
      const std::int32_t n_rows = std::min(kSlice, spec_.vocabulary - at);
      parallel_ranges(n_rows, kTokenGrain, [&](std::ptrdiff_t begin, std::ptrdiff_t end) {
        for (std::ptrdiff_t i = begin; i < end; ++i) {
          weights_.output().row(at + static_cast<std::int32_t>(i), {slice.data() + i * width, width});
        }
      });
      matmul(hidden.data(), slice.data(), count, spec_.width, n_rows, out + at, spec_.vocabulary);
    }
  }

  bool log_likelihood(std::span<const Next> of, std::span<float> out, const std::stop_token& stop) override {
    const auto width = static_cast<std::size_t>(spec_.width);
    AlignedBuffer<float> hidden(of.size() * width);
    std::vector<TokenId> tokens;
    for (std::size_t i = 0; i < of.size(); ++i) {
      output_norm(of[i].behind, hidden.data() + i * width);
      tokens.push_back(of[i].token);
    }
    return engine::log_likelihood(weights_.output(), {hidden.data(), hidden.size()}, tokens, out, stop);
  }

  void place(SequenceKv& kv, const KvBlock& block, std::span<const std::int32_t> positions) override {
    kv.prepare(block.n_tokens);
    const RopeAngles angles = rope_.angles(positions);
    const RopeAngles local_angles = spec_.sliding_window > 0 ? local_rope_.angles(positions) : RopeAngles{};
    const auto n_units = static_cast<std::ptrdiff_t>(spec_.n_layers) * block.n_tokens;
    parallel_ranges(n_units, kTokenGrain, [&](std::ptrdiff_t begin, std::ptrdiff_t end) {
      std::vector<T> key(spec_.head_dim), value(spec_.head_dim);
      for (std::ptrdiff_t unit = begin; unit < end; ++unit) {
        const auto l = static_cast<std::int32_t>(unit / block.n_tokens);
        const auto token = static_cast<std::int32_t>(unit % block.n_tokens);
        const KvTiles<T> tiles = kv.tiles<T>(l);
        for (std::int32_t head = 0; head < spec_.n_kv_heads; ++head) {
          const auto at = (static_cast<std::size_t>(token) * spec_.n_kv_heads + head) * spec_.head_dim;
          for (std::int32_t d = 0; d < spec_.head_dim; ++d) {
            key[d] = narrow<T>(to_float(BFloat16{block.keys(l)[at + d]}));
            value[d] = narrow<T>(to_float(BFloat16{block.values(l)[at + d]}));
          }
          turn(key.data(), slides(l) ? local_angles : angles, token, 1.0F, key.data());
          write_cell<T>(tiles, head, kv.size() + token, key.data(), value.data());
        }
      }
    });
  }

 private:
  static RopeSpec local_rope(const ModelSpec& spec) {
    RopeSpec rope = spec.rope;
    if (spec.local_rope_base > 0.0) {  // the local layers of gemma3 know nothing of the global ones' scaling
      rope.base = spec.local_rope_base;
      rope.scaling = "none";
      rope.frequency_factors.clear();
    }
    return rope;
  }

  /// Tokens of a block: 512, fewer where a matrix is so large that one product would take long (cancellation
  /// is noticed between products).
  static std::int32_t block_size(const ModelSpec& spec) {
    constexpr double kMostFlops = 6e9;
    const double per_token = 2.0 * spec.width * std::max(2 * spec.feed_forward, spec.n_heads * spec.head_dim);
    return std::clamp(static_cast<std::int32_t>(kMostFlops / per_token) / kTileCells * kTileCells, kTileCells,
                      512);
  }

  /// Rows that the products of n tokens are made with. oneDNN compiles a kernel for each number of rows,
  /// which takes longer than a few rows too many; what these hold does not matter.
  [[nodiscard]] std::int32_t product_rows(std::int32_t n) const {
    constexpr std::int32_t kStep = 32;
    if (std::is_same_v<T, float> || n == 1) return n;
    return std::min((n + kStep - 1) / kStep * kStep, most_tokens_);
  }

  template <class U>
  AlignedBuffer<U> buffer(std::int32_t width) const {
    return AlignedBuffer<U>(static_cast<std::size_t>(most_tokens_) * width);
  }
  template <class U>
  U* row(AlignedBuffer<U>& of, std::ptrdiff_t i) const {
    return of.data() + of.size() / most_tokens_ * i;
  }
  template <class U>
  const U* row(const AlignedBuffer<U>& of, std::ptrdiff_t i) const {
    return of.data() + of.size() / most_tokens_ * i;
  }

  [[nodiscard]] bool slides(std::int32_t layer) const {
    if (spec_.sliding_window == 0) return false;
    return spec_.sliding_pattern == 0 || (layer + 1) % spec_.sliding_pattern != 0;
  }

  /// A lane on its way through the layers.
  struct LaneRows {
    const SequenceKv* kv = nullptr;
    std::int32_t first = 0;  // its first row
    std::span<const std::int32_t> cells;
    RopeAngles angles, local_angles;               // of the sliding layers the second ones
    std::vector<VisibleCells> everything, window;  // likewise
  };

  std::vector<LaneRows> begin_lanes(std::span<const Lane> lanes) {
    std::vector<LaneRows> all;
    std::int32_t first = 0;
    for (const Lane& lane : lanes) {
      lane.kv->prepare(std::max(lane.cells.back() + 1 - lane.kv->size(), 0));
      embed(lane.tokens, first);
      LaneRows& rows = all.emplace_back();
      rows.kv = lane.kv;
      rows.first = first;
      rows.cells = lane.cells;
      rows.angles = rope_.angles(lane.positions);
      rows.everything = visible_cells(*lane.kv, lane.cells, lane.positions, 0);
      first += static_cast<std::int32_t>(lane.tokens.size());
      if (spec_.sliding_window == 0) continue;
      rows.local_angles = local_rope_.angles(lane.positions);
      rows.window = visible_cells(*lane.kv, lane.cells, lane.positions, spec_.sliding_window);
    }
    return all;
  }

  void embed(std::span<const TokenId> tokens, std::int32_t first) {
    const float scale = spec_.embedding_scale;
    parallel_ranges(std::ssize(tokens), kTokenGrain, [&](std::ptrdiff_t begin, std::ptrdiff_t end) {
      for (std::ptrdiff_t i = begin; i < end; ++i) {
        const std::span out(row(stream_, first + i), static_cast<std::size_t>(spec_.width));
        weights_.embedding.row(tokens[i], out);
        for (float& value : out) value *= scale;
      }
    });
  }

  void output_norm(std::int32_t i, float* out) const {
    rms_norm(row(stream_, i), weights_.output_norm.data(), spec_.width, spec_.rms_eps, out);
  }

  void norm(const std::vector<float>& weight, std::int32_t n) {
    parallel_ranges(n, kTokenGrain, [&](std::ptrdiff_t begin, std::ptrdiff_t end) {
      for (std::ptrdiff_t i = begin; i < end; ++i) {
        rms_norm(row(stream_, i), weight.data(), spec_.width, spec_.rms_eps, row(normed_, i));
      }
    });
  }

  /// Bias and norm of queries and keys, for models that have them.
  void finish_heads(const LayerWeights<T>& layer, std::int32_t n) {
    if (layer.qkv_bias.empty() && layer.query_norm.empty()) return;
    parallel_ranges(n, kTokenGrain, [&](std::ptrdiff_t begin, std::ptrdiff_t end) {
      std::vector<float> values(qkv_width_);
      for (std::ptrdiff_t i = begin; i < end; ++i) {
        T* qkv = row(qkv_, i);
        widen(qkv, qkv_width_, values.data());
        if (!layer.qkv_bias.empty()) add(values.data(), layer.qkv_bias.data(), qkv_width_);
        round_to(values.data(), qkv_width_, qkv);
        if (layer.query_norm.empty()) continue;
        for (std::int32_t h = 0; h < spec_.n_heads + spec_.n_kv_heads; ++h) {
          const auto& weight = h < spec_.n_heads ? layer.query_norm : layer.key_norm;
          rms_norm(values.data() + h * spec_.head_dim, weight.data(), spec_.head_dim, spec_.rms_eps,
                   qkv + h * spec_.head_dim);
        }
      }
    });
  }

  static std::uint16_t bfloat16_bits(BFloat16 value) { return value.bits; }
  static std::uint16_t bfloat16_bits(float value) { return to_bfloat16(value).bits; }

  void capture(std::int32_t l, std::int32_t n, KvBlock& block, std::int32_t at) {
    parallel_ranges(n, kTokenGrain, [&](std::ptrdiff_t begin, std::ptrdiff_t end) {
      for (std::ptrdiff_t i = begin; i < end; ++i) {
        const T* keys = row(qkv_, i) + query_width_;
        std::uint16_t* key_out = block.keys(l) + (at + i) * key_width_;
        std::uint16_t* value_out = block.values(l) + (at + i) * key_width_;
        for (std::int32_t d = 0; d < key_width_; ++d) {
          key_out[d] = bfloat16_bits(keys[d]);
          value_out[d] = bfloat16_bits(keys[key_width_ + d]);
        }
      }
    });
  }

  void turn(const T* in, const RopeAngles& angles, std::ptrdiff_t token, float scale, T* out) const {
    const auto at = token * rope_.half();
    rotate(in, angles.cosine.data() + at, angles.sine.data() + at, spec_.rope.layout, 2 * rope_.half(),
           spec_.head_dim, scale, out);
  }

  /// Queries go on to attention, keys and values into their cells.
  void rotate_heads(const LaneRows& lane, std::int32_t l) {
    const RopeAngles& angles = slides(l) ? lane.local_angles : lane.angles;
    const KvTiles<T> tiles = lane.kv->template tiles<T>(l);
    const float attention_scale = spec_.attention_scale > 0.0F
                                      ? spec_.attention_scale
                                      : 1.0F / std::sqrt(static_cast<float>(spec_.head_dim));
    const float query_scale = attention_scale * std::numbers::log2e_v<float>;
    parallel_ranges(std::ssize(lane.cells), kTokenGrain, [&](std::ptrdiff_t begin, std::ptrdiff_t end) {
      std::vector<T> key(spec_.head_dim);
      for (std::ptrdiff_t i = begin; i < end; ++i) {
        const T* head = row(qkv_, lane.first + i);
        for (std::int32_t h = 0; h < spec_.n_heads; ++h, head += spec_.head_dim) {
          turn(head, angles, i, query_scale, row(queries_, lane.first + i) + h * spec_.head_dim);
        }
        for (std::int32_t h = 0; h < spec_.n_kv_heads; ++h, head += spec_.head_dim) {
          turn(head, angles, i, 1.0F, key.data());
          write_cell<T>(tiles, h, lane.cells[i], key.data(), head + key_width_);
        }
      }
    });
  }

  /// Of what `qkv_` has now, and the cells before it is written.
  void compare_values(const LaneRows& lane, ValueDeviation& deviation) const {
    const KvTiles<T> tiles = lane.kv->template tiles<T>(deviation.layer);
    deviation.of_token.resize(lane.cells.size());
    parallel_ranges(std::ssize(lane.cells), kTokenGrain, [&](std::ptrdiff_t begin, std::ptrdiff_t end) {
      std::vector<T> old(key_width_);
      for (std::ptrdiff_t i = begin; i < end; ++i) {
        for (std::int32_t h = 0; h < spec_.n_kv_heads; ++h)
          read_value(tiles, h, lane.cells[i], old.data() + h * spec_.head_dim);
        deviation.of_token[i] =
            distance(old.data(), row(qkv_, i) + query_width_ + key_width_, deviation.distance);
      }
    });
  }

  [[nodiscard]] float distance(const T* a, const T* b, ValueDistance kind) const {
    float difference = 0, product = 0, a_square = 0, b_square = 0;
    for (std::int32_t d = 0; d < key_width_; ++d) {
      const float x = to_float(a[d]), y = to_float(b[d]);
      difference += (x - y) * (x - y);
      product += x * y;
      a_square += x * x;
      b_square += y * y;
    }
    if (kind == ValueDistance::kL2) return std::sqrt(difference);
    const float norms = std::sqrt(a_square * b_square);
    return norms > 0 ? 1 - product / norms : 0;
  }

  void activate(std::int32_t n) {
    parallel_ranges(n, kTokenGrain, [&](std::ptrdiff_t begin, std::ptrdiff_t end) {
      for (std::ptrdiff_t i = begin; i < end; ++i) {
        const T* both = row(gate_up_, i);
        gate(both, both + spec_.feed_forward, spec_.feed_forward, spec_.activation, row(gated_, i));
      }
    });
  }

  void add_to_stream(const std::vector<float>& post_norm, std::int32_t n) {
    parallel_ranges(n, kTokenGrain, [&](std::ptrdiff_t begin, std::ptrdiff_t end) {
      std::vector<float> wide(post_norm.empty() ? 0 : spec_.width);
      for (std::ptrdiff_t i = begin; i < end; ++i) {
        if (post_norm.empty()) {
          add(row(stream_, i), row(projected_, i), spec_.width);
          continue;
        }
        widen(row(projected_, i), spec_.width, wide.data());
        rms_norm(wide.data(), post_norm.data(), spec_.width, spec_.rms_eps, wide.data());
        add(row(stream_, i), wide.data(), spec_.width);
      }
    });
  }

  const ModelSpec& spec_;
  const Weights<T> weights_;
  const Rope rope_;
  const Rope local_rope_;  // of the sliding layers
  const std::int32_t query_width_, key_width_, qkv_width_;
  const std::int32_t most_tokens_;
  // One block's activations, (most_tokens_, width of each).
  AlignedBuffer<float> stream_;
  AlignedBuffer<T> normed_, qkv_, queries_, attended_, gate_up_, gated_, projected_;
};

template <class T>
Result<std::unique_ptr<Transformer>> load_typed(const Gguf& gguf, const ModelSpec& spec,
                                                const std::function<void(double)>& progress,
                                                const std::stop_token& stop) {
  auto weights = load_weights<T>(gguf, spec, progress, stop);
  if (!weights) return fail(weights.error());
  return std::make_unique<TypedTransformer<T>>(spec, std::move(*weights));
}

}  // namespace

Result<std::unique_ptr<Transformer>> load_transformer(const Gguf& gguf, const ModelSpec& spec,
                                                      ComputeType compute,
                                                      const std::function<void(double)>& progress,
                                                      const std::stop_token& stop) {
  return compute == ComputeType::kBFloat16 ? load_typed<BFloat16>(gguf, spec, progress, stop)
                                           : load_typed<float>(gguf, spec, progress, stop);
}

}  // namespace kvboost::engine
