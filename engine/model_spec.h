// SPDX-License-Identifier: Apache-2.0
// ModelSpec: what a model file says of its shape. Torch-free plain value, any thread. Filled by
// engine/model from a GGUF's metadata; an architecture differs from another by what stands here.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/kv_block.h"

namespace kvboost::engine {

enum class Activation { kSilu, kGelu };

/// How pairs of a head's dimensions are rotated: adjacent (2i, 2i+1), as llama GGUF files are laid out, or
/// split halves (i, i + d/2), as in NeoX, Qwen and Gemma.
enum class RopeLayout { kInterleaved, kHalves };

struct RopeSpec {
  RopeLayout layout = RopeLayout::kInterleaved;
  double base = 10000.0;
  std::int32_t n_rotated = 0;    // dimensions of a head that rotate
  std::string scaling = "none";  // none, linear, yarn; llama3 comes as frequency factors
  double factor = 1.0;
  std::int32_t original_context = 0;
  double yarn_ext_factor = 1.0, yarn_attn_factor = 1.0, yarn_beta_fast = 32.0, yarn_beta_slow = 1.0;
  std::vector<float> frequency_factors;  // rope_freqs.weight, n_rotated / 2 of them, or empty
};

struct ModelSpec {
  std::string architecture;  // general.architecture
  std::string name;          // general.name, else the file's stem
  std::string file_type;     // "Q4_1", from general.file_type, else the commonest tensor type
  std::int32_t n_layers = 0;
  std::int32_t width = 0;
  std::int32_t n_heads = 0;
  std::int32_t n_kv_heads = 0;
  std::int32_t head_dim = 0;
  std::int32_t feed_forward = 0;
  std::int32_t vocabulary = 0;
  std::int32_t context = 0;  // trained context in tokens
  float rms_eps = 1e-5F;
  bool tied_output = false;
  bool qkv_bias = false;       // qwen2
  bool qk_norm = false;        // qwen3, gemma3
  bool post_norms = false;     // gemma3: norms behind attention and feed-forward
  bool norm_plus_one = false;  // weights stored as w, applied as 1 + w (GGUF files of gemma store 1 + w)
  float embedding_scale = 1.0F;
  float attention_scale = 0.0F;  // 0: 1/sqrt(head_dim)
  Activation activation = Activation::kSilu;
  std::int32_t sliding_window = 0;   // 0: none
  std::int32_t sliding_pattern = 0;  // every n-th layer is global; 0: all alike
  RopeSpec rope;
  double local_rope_base = 0.0;  // gemma3: base of the sliding layers; 0: same as rope.base

  [[nodiscard]] KvShape kv_shape() const { return {n_layers, n_kv_heads, head_dim}; }
};

}  // namespace kvboost::engine
