// SPDX-License-Identifier: Apache-2.0
// From the file's tensors to matrices, on all threads.
#include "engine/model/weights.h"

#include <omp.h>

#include <atomic>
#include <cmath>
#include <limits>
#include <string>

#include "engine/kernels/parallel.h"
#include "engine/model/dequantise.h"

namespace kvboost::engine {
namespace {

template <class T>
class Loader {
 public:
  Loader(const Gguf& gguf, const ModelSpec& spec) : gguf_(gguf), spec_(spec) {}

  Result<Weights<T>> load(const std::function<void(double)>& progress, const std::stop_token& stop) {
    Weights<T> weights;
    weights.embedding = linear({"token_embd.weight"}, Linear<T>::Use::kOneRow);
    for (std::int32_t i = 0; i < spec_.n_layers; ++i) {
      weights.layers.push_back(layer("blk." + std::to_string(i) + "."));
    }
    weights.output_norm = norm("output_norm.weight");
    if (!spec_.tied_output) weights.untied_output = linear({"output.weight"}, Linear<T>::Use::kOneRow);
    fill_all(weights, progress, stop);
    if (stop.stop_requested()) return fail(ErrorCode::kCancelled, "loading the model was cancelled");
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
    layer.qkv = linear({prefix + "attn_q.weight", prefix + "attn_k.weight", prefix + "attn_v.weight"});
    if (spec_.qkv_bias) {
      for (const char* name : {"attn_q.bias", "attn_k.bias", "attn_v.bias"}) {
        const auto part = numbers(prefix + name);
        layer.qkv_bias.insert(layer.qkv_bias.end(), part.begin(), part.end());
      }
    }
    if (spec_.qk_norm) {
      layer.query_norm = norm(prefix + "attn_q_norm.weight");
      layer.key_norm = norm(prefix + "attn_k_norm.weight");
    }
    layer.output = linear({prefix + "attn_output.weight"});
    layer.feed_forward_norm = norm(prefix + "ffn_norm.weight");
    layer.gate_up = linear({prefix + "ffn_gate.weight", prefix + "ffn_up.weight"});
    layer.down = linear({prefix + "ffn_down.weight"});
    if (spec_.post_norms) {
      layer.post_attention_norm = norm(prefix + "post_attention_norm.weight");
      layer.post_feed_forward_norm = norm(prefix + "post_ffw_norm.weight");
    }
    return layer;
  }

  std::vector<float> numbers(const std::string& name) {
    const GgufTensor& tensor = *gguf_.tensor(name);
    std::vector<float> values(static_cast<std::size_t>(tensor.elements()));
    dequantise(tensor.type, tensor.data, values);
    const bool good = std::ranges::all_of(values, [](float value) { return std::isfinite(value); });
    if (!good && broken_.empty()) broken_ = name;
    return values;
  }

  std::vector<float> norm(const std::string& name) {
    auto values = numbers(name);
    if (spec_.norm_plus_one) {
      for (float& value : values) value += 1.0F;
    }
    return values;
  }

  Linear<T> linear(const std::vector<std::string>& names,
                   typename Linear<T>::Use use = Linear<T>::Use::kManyRows) const {
    std::vector<const GgufTensor*> tensors;
    for (const auto& name : names) tensors.push_back(gguf_.tensor(name));
    return Linear<T>(tensors, use);
  }

  void fill_all(Weights<T>& weights, const std::function<void(double)>& progress,
                const std::stop_token& stop) {
    std::vector<Linear<T>*> all{&weights.embedding};
    for (auto& layer : weights.layers) {
      for (Linear<T>* linear : {&layer.qkv, &layer.output, &layer.gate_up, &layer.down})
        all.push_back(linear);
    }
    if (!spec_.tied_output) all.push_back(&weights.untied_output);
    for (std::size_t i = 0; i < all.size() && !stop.stop_requested(); ++i) {
      std::atomic<std::int32_t> broken_slab = -1;
      parallel_items(all[i]->n_slabs(), [&](std::ptrdiff_t slab) {
        if (!stop.stop_requested() && !all[i]->fill(static_cast<std::int32_t>(slab))) {
          broken_slab = static_cast<std::int32_t>(slab);
        }
      });
      if (broken_slab >= 0 && broken_.empty()) broken_ = all[i]->name(broken_slab);
      all[i]->finish();
      if (progress) progress(static_cast<double>(i + 1) / static_cast<double>(all.size()));
    }
  }

  const Gguf& gguf_;
  const ModelSpec& spec_;
  std::string broken_;  // the first tensor with a number that isn't finite
};

}  // namespace

template <class T>
std::uint64_t Weights<T>::bytes() const {
  std::uint64_t sum = embedding.bytes() + untied_output.bytes();
  for (const auto& layer : layers) {
    sum += layer.qkv.bytes() + layer.output.bytes() + layer.gate_up.bytes() + layer.down.bytes();
  }
  return sum;
}

template <class T>
Result<Weights<T>> load_weights(const Gguf& gguf, const ModelSpec& spec,
                                const std::function<void(double)>& progress, const std::stop_token& stop) {
  return Loader<T>(gguf, spec).load(progress, stop);
}

template struct Weights<BFloat16>;
template struct Weights<float>;
template Result<Weights<BFloat16>> load_weights(const Gguf&, const ModelSpec&,
                                                const std::function<void(double)>&, const std::stop_token&);
template Result<Weights<float>> load_weights(const Gguf&, const ModelSpec&,
                                             const std::function<void(double)>&, const std::stop_token&);

}  // namespace kvboost::engine
