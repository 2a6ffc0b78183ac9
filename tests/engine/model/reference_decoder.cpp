// SPDX-License-Identifier: Apache-2.0
#include "tests/engine/model/reference_decoder.h"

#include <cmath>
#include <cstring>
#include <string>

namespace kvboost::test {
namespace {

using Vector = std::vector<double>;
using Rows = std::vector<Vector>;

class Decoder {
 public:
  Decoder(const engine::Gguf& gguf, const engine::ModelSpec& spec) : gguf_(gguf), spec_(spec) {}

  Rows logits(std::span<const std::int32_t> tokens, std::span<const std::int32_t> positions) {
    Rows x;
    for (const auto token : tokens) {
      x.push_back(tensor_row("token_embd.weight", token));
      for (double& value : x.back()) value *= spec_.embedding_scale;
    }
    for (int l = 0; l < spec_.n_layers; ++l) layer("blk." + std::to_string(l) + ".", l, positions, x);
    Rows all;
    for (const Vector& row : x) {
      all.push_back(multiply(spec_.tied_output ? "token_embd.weight" : "output.weight",
                             norm("output_norm.weight", row)));
    }
    return all;
  }

 private:
  void layer(const std::string& name, int l, std::span<const std::int32_t> positions, Rows& x) {
    const bool slides =
        spec_.sliding_window > 0 && (spec_.sliding_pattern == 0 || (l + 1) % spec_.sliding_pattern != 0);
    const double base = slides && spec_.local_rope_base > 0 ? spec_.local_rope_base : spec_.rope.base;
    Rows q, k, v;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const Vector normed = norm(name + "attn_norm.weight", x[i]);
      q.push_back(heads(name, "attn_q", spec_.n_heads, normed, positions[i], base));
      k.push_back(heads(name, "attn_k", spec_.n_kv_heads, normed, positions[i], base));
      v.push_back(multiply(name + "attn_v.weight", normed));
      if (spec_.qkv_bias) add(v.back(), tensor_row(name + "attn_v.bias", 0));
    }
    for (std::size_t i = 0; i < x.size(); ++i) {
      const Vector seen = attend(q[i], k, v, i, slides ? spec_.sliding_window : 1 << 30, positions);
      Vector out = multiply(name + "attn_output.weight", seen);
      add(x[i], spec_.post_norms ? norm(name + "post_attention_norm.weight", out) : out);
      const Vector normed = norm(name + "ffn_norm.weight", x[i]);
      Vector gate = multiply(name + "ffn_gate.weight", normed);
      const Vector up = multiply(name + "ffn_up.weight", normed);
      for (std::size_t j = 0; j < gate.size(); ++j) gate[j] = activate(gate[j]) * up[j];
      out = multiply(name + "ffn_down.weight", gate);
      add(x[i], spec_.post_norms ? norm(name + "post_ffw_norm.weight", out) : out);
    }
  }

  Vector heads(const std::string& name, const std::string& part, int n_heads, const Vector& in, int position,
               double base) {
    Vector all = multiply(name + part + ".weight", in);
    if (spec_.qkv_bias) add(all, tensor_row(name + part + ".bias", 0));
    for (int h = 0; h < n_heads; ++h) {
      Vector head(all.begin() + h * spec_.head_dim, all.begin() + (h + 1) * spec_.head_dim);
      if (spec_.qk_norm) head = norm(name + part + "_norm.weight", head);
      for (int i = 0; i < spec_.rope.n_rotated / 2; ++i) {
        double frequency = std::pow(base, -2.0 * i / spec_.rope.n_rotated);
        if (!spec_.rope.frequency_factors.empty()) frequency /= spec_.rope.frequency_factors[i];
        const bool pairs = spec_.rope.layout == engine::RopeLayout::kInterleaved;
        double& a = head[pairs ? 2 * i : i];
        double& b = head[pairs ? 2 * i + 1 : i + spec_.rope.n_rotated / 2];
        const double c = std::cos(position * frequency), s = std::sin(position * frequency), old = a;
        a = old * c - b * s;
        b = old * s + b * c;
      }
      std::copy(head.begin(), head.end(), all.begin() + h * spec_.head_dim);
    }
    return all;
  }

  Vector attend(const Vector& q, const Rows& k, const Rows& v, std::size_t i, int window,
                std::span<const std::int32_t> positions) {
    Vector out(q.size());
    const double scale = spec_.attention_scale > 0 ? spec_.attention_scale : 1 / std::sqrt(spec_.head_dim);
    for (int h = 0; h < spec_.n_heads; ++h) {
      const int kv = h / (spec_.n_heads / spec_.n_kv_heads) * spec_.head_dim;
      Vector weight(i + 1);
      double sum = 0.0;
      for (std::size_t j = 0; j <= i; ++j) {
        if (positions[i] - positions[j] >= window) continue;
        double score = 0.0;
        for (int d = 0; d < spec_.head_dim; ++d) score += q[h * spec_.head_dim + d] * k[j][kv + d];
        weight[j] = std::exp(score * scale);
        sum += weight[j];
      }
      for (std::size_t j = 0; j <= i; ++j) {
        for (int d = 0; d < spec_.head_dim; ++d)
          out[h * spec_.head_dim + d] += weight[j] / sum * v[j][kv + d];
      }
    }
    return out;
  }

  double activate(double x) const {
    if (spec_.activation == engine::Activation::kSilu) return x / (1 + std::exp(-x));
    return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
  }

  Vector norm(const std::string& name, const Vector& x) const {
    const Vector weight = tensor_row(name, 0);
    double squares = 0.0;
    for (const double value : x) squares += value * value;
    Vector out(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
      out[i] = x[i] / std::sqrt(squares / static_cast<double>(x.size()) + spec_.rms_eps) *
               (weight[i] + (spec_.norm_plus_one ? 1 : 0));
    }
    return out;
  }

  Vector multiply(const std::string& name, const Vector& x) const {
    Vector out(gguf_.tensor(name)->shape[1]);
    for (std::size_t r = 0; r < out.size(); ++r) {
      const Vector row = tensor_row(name, static_cast<std::int64_t>(r));
      for (std::size_t i = 0; i < x.size(); ++i) out[r] += row[i] * x[i];
    }
    return out;
  }

  Vector tensor_row(const std::string& name, std::int64_t row) const {
    const engine::GgufTensor& tensor = *gguf_.tensor(name);
    std::vector<float> values(tensor.shape[0]);
    std::memcpy(values.data(), tensor.data.data() + row * tensor.shape[0] * sizeof(float),
                values.size() * sizeof(float));
    return {values.begin(), values.end()};
  }

  static void add(Vector& x, const Vector& y) {
    for (std::size_t i = 0; i < x.size(); ++i) x[i] += y[i];
  }

  const engine::Gguf& gguf_;
  const engine::ModelSpec& spec_;
};

}  // namespace

std::vector<std::vector<double>> reference_logits(const engine::Gguf& gguf, const engine::ModelSpec& spec,
                                                  std::span<const std::int32_t> tokens,
                                                  std::span<const std::int32_t> positions) {
  return Decoder(gguf, spec).logits(tokens, positions);
}

}  // namespace kvboost::test
