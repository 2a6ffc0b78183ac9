// SPDX-License-Identifier: Apache-2.0
#include "engine/model/spec_reader.h"

namespace kvboost::engine {
namespace {

void add_layer(std::vector<ExpectedTensor>& all, const ModelSpec& spec, const std::string& layer) {
  const std::int64_t width = spec.width;
  const std::int64_t queries = std::int64_t{spec.n_heads} * spec.head_dim;
  const std::int64_t keys = std::int64_t{spec.n_kv_heads} * spec.head_dim;
  const auto add = [&](const char* name, std::vector<std::int64_t> shape) {
    all.push_back({layer + name, std::move(shape)});
  };
  add("attn_norm.weight", {width});
  add("attn_q.weight", {width, queries});
  add("attn_k.weight", {width, keys});
  add("attn_v.weight", {width, keys});
  add("attn_output.weight", {queries, width});
  add("ffn_norm.weight", {width});
  add("ffn_gate.weight", {width, spec.feed_forward});
  add("ffn_up.weight", {width, spec.feed_forward});
  add("ffn_down.weight", {spec.feed_forward, width});
  if (spec.qkv_bias) {
    add("attn_q.bias", {queries});
    add("attn_k.bias", {keys});
    add("attn_v.bias", {keys});
  }
  if (spec.qk_norm) {
    add("attn_q_norm.weight", {spec.head_dim});
    add("attn_k_norm.weight", {spec.head_dim});
  }
  if (spec.post_norms) {
    add("post_attention_norm.weight", {width});
    add("post_ffw_norm.weight", {width});
  }
}

}  // namespace

std::vector<ExpectedTensor> expected_tensors(const ModelSpec& spec) {
  std::vector<ExpectedTensor> all;
  all.push_back({"token_embd.weight", {spec.width, spec.vocabulary}});
  for (std::int32_t layer = 0; layer < spec.n_layers; ++layer) {
    add_layer(all, spec, "blk." + std::to_string(layer) + ".");
  }
  all.push_back({"output_norm.weight", {spec.width}});
  if (!spec.tied_output) all.push_back({"output.weight", {spec.width, spec.vocabulary}});
  return all;
}

}  // namespace kvboost::engine
