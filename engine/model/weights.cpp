// SPDX-License-Identifier: Apache-2.0
// From the file's blocks to matrices, on all threads.
#include "engine/model/weights.h"

#include <atomic>
#include <cmath>
#include <string>

#include "engine/kernels/elementwise.h"
#include "engine/kernels/parallel.h"
#include "engine/model/dequantise.h"

namespace kvboost::engine {
namespace {

/// Elements that a thread converts at a time.
constexpr std::int64_t kStretch = 1 << 16;

/// All finite? A sum of x * 0 is 0 only then, and vectorises.
bool finite(std::span<const float> values) {
  float sum = 0.0F;
  for (const float value : values) sum += value * 0.0F;
  return sum == 0.0F;
}

template <class T>
class Loader {
 public:
  Loader(const Gguf& gguf, const ModelSpec& spec, const std::function<void(double)>& progress,
         const std::stop_token& stop)
      : gguf_(gguf), spec_(spec), progress_(progress), stop_(stop) {
    for (const auto& tensor : gguf.tensors()) total_ += tensor.elements();
  }

  Result<Weights<T>> load() {
    Weights<T> weights;
    weights.embedding = gguf_.tensor("token_embd.weight");
    for (std::int32_t i = 0; i < spec_.n_layers; ++i)
      weights.layers.push_back(layer("blk." + std::to_string(i) + "."));
    weights.output_norm = norm("output_norm.weight");
    weights.vocabulary = joined({spec_.tied_output ? "token_embd.weight" : "output.weight"});
    if (stop_.stop_requested()) return fail(ErrorCode::kCancelled, "loading the model was cancelled");
    if (!broken_.empty()) {
      return fail(ErrorCode::kCorrupt,
                  "tensor '" + broken_ + "' of the model file holds numbers that are not finite",
                  "fetch the file again");
    }
    return weights;
  }

 private:
  LayerWeights<T> layer(const std::string& prefix) {
    LayerWeights<T> layer;
    layer.attention_norm = norm(prefix + "attn_norm.weight");
    layer.qkv = joined({prefix + "attn_q.weight", prefix + "attn_k.weight", prefix + "attn_v.weight"});
    if (spec_.qkv_bias) {
      for (const char* name : {"attn_q.bias", "attn_k.bias", "attn_v.bias"}) {
        const auto part = vector(prefix + name);
        layer.qkv_bias.insert(layer.qkv_bias.end(), part.begin(), part.end());
      }
    }
    if (spec_.qk_norm) {
      layer.query_norm = norm(prefix + "attn_q_norm.weight");
      layer.key_norm = norm(prefix + "attn_k_norm.weight");
    }
    layer.output = joined({prefix + "attn_output.weight"});
    layer.feed_forward_norm = norm(prefix + "ffn_norm.weight");
    layer.gate_up = joined({prefix + "ffn_gate.weight", prefix + "ffn_up.weight"});
    layer.down = joined({prefix + "ffn_down.weight"});
    if (spec_.post_norms) {
      layer.post_attention_norm = norm(prefix + "post_attention_norm.weight");
      layer.post_feed_forward_norm = norm(prefix + "post_ffw_norm.weight");
    }
    return layer;
  }

  std::vector<float> vector(const std::string& name) {
    const GgufTensor& tensor = *gguf_.tensor(name);
    std::vector<float> values(static_cast<std::size_t>(tensor.elements()));
    dequantise(tensor.type, tensor.data, values);
    if (!finite(values) && broken_.empty()) broken_ = name;
    return values;
  }

  std::vector<float> norm(const std::string& name) {
    auto values = vector(name);
    if (spec_.norm_plus_one) {
      for (float& value : values) value += 1.0F;
    }
    return values;
  }

  /// Matrices of the same input, one below the other.
  Matrix<T> joined(const std::vector<std::string>& names) {
    Matrix<T> matrix;
    for (const auto& name : names) {
      const auto& shape = gguf_.tensor(name)->shape;
      matrix.inputs = static_cast<std::int32_t>(shape[0]);
      matrix.outputs += static_cast<std::int32_t>(shape[1]);
    }
    matrix.data = AlignedBuffer<T>(static_cast<std::size_t>(matrix.inputs) * matrix.outputs);
    T* out = matrix.data.data();
    for (const auto& name : names) {
      const GgufTensor& tensor = *gguf_.tensor(name);
      convert(tensor, out);
      out += tensor.elements();
    }
    return matrix;
  }

  void convert(const GgufTensor& tensor, T* out) {
    const auto block = block_format(tensor.type);
    const std::int64_t row = tensor.shape[0];
    const std::int64_t stretch = std::max<std::int64_t>(1, kStretch / row) * row;  // whole rows: whole blocks
    std::atomic<bool> good = true;
    parallel_items((tensor.elements() + stretch - 1) / stretch, [&](std::ptrdiff_t i) {
      if (stop_.stop_requested()) return;
      const std::int64_t begin = i * stretch;
      const std::int64_t count = std::min(stretch, tensor.elements() - begin);
      std::vector<float> values(static_cast<std::size_t>(count));
      dequantise(
          tensor.type,
          tensor.data.subspan(begin / block.elements * block.bytes, count / block.elements * block.bytes),
          values);
      if (!finite(values)) good = false;
      for (std::int64_t at = 0; at < count; at += row) {
        round_to(values.data() + at, static_cast<std::int32_t>(row), out + begin + at);
      }
    });
    if (!good && broken_.empty()) broken_ = tensor.name;
    done_ += tensor.elements();
    if (progress_) progress_(std::min(1.0, static_cast<double>(done_) / static_cast<double>(total_)));
  }

  const Gguf& gguf_;
  const ModelSpec& spec_;
  const std::function<void(double)>& progress_;
  const std::stop_token& stop_;
  std::int64_t total_ = 0;
  std::int64_t done_ = 0;
  std::string broken_;  // the first tensor with a number that isn't finite
};

}  // namespace

template <class T>
std::uint64_t Weights<T>::bytes() const {
  std::uint64_t sum = vocabulary.data.bytes();
  for (const auto& layer : layers) {
    sum += layer.qkv.data.bytes() + layer.output.data.bytes() + layer.gate_up.data.bytes() +
           layer.down.data.bytes();
  }
  return sum;
}

template <class T>
Result<Weights<T>> load_weights(const Gguf& gguf, const ModelSpec& spec,
                                const std::function<void(double)>& progress, const std::stop_token& stop) {
  return Loader<T>(gguf, spec, progress, stop).load();
}

void dequantise_row(const GgufTensor& tensor, std::int64_t row, std::span<float> out) {
  const auto block = block_format(tensor.type);
  const auto bytes = static_cast<std::size_t>(tensor.shape[0] / block.elements * block.bytes);
  dequantise(tensor.type, tensor.data.subspan(static_cast<std::size_t>(row) * bytes, bytes), out);
}

template struct Weights<BFloat16>;
template struct Weights<float>;
template Result<Weights<BFloat16>> load_weights(const Gguf&, const ModelSpec&,
                                                const std::function<void(double)>&, const std::stop_token&);
template Result<Weights<float>> load_weights(const Gguf&, const ModelSpec&,
                                             const std::function<void(double)>&, const std::stop_token&);

}  // namespace kvboost::engine
