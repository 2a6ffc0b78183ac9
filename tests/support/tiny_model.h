// SPDX-License-Identifier: Apache-2.0
// TinyModel: what a random model for tests looks like, and the GGUF made of it. The same options give the
// same bytes. The vocabulary is a byte-level BPE: three special tokens, 256 bytes, then `kTinyMerges`.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "engine/model/gguf.h"
#include "tests/support/gguf_writer.h"

namespace kvboost::test {

struct TinyModel {
  std::string architecture = "llama";  // llama, qwen2, qwen3, gemma3: each gets its own tensors and keys
  std::uint64_t seed = 1;
  std::int32_t n_layers = 3;
  std::int32_t width = 64;
  std::int32_t n_heads = 4;
  std::int32_t n_kv_heads = 2;
  std::int32_t head_dim = 16;
  std::int32_t feed_forward = 96;
  std::int32_t context = 2048;
  engine::TensorType type = engine::TensorType::kF32;  // of the matrices; norms and biases are F32
  bool tied_output = true;
  float rope_base = 10000.0F;
  std::string rope_scaling = {};              // "": no such key
  float rope_factor = 1.0F;                   // written with rope_scaling
  std::int32_t original_context = 0;          // written with rope_scaling
  std::vector<float> frequency_factors = {};  // rope_freqs.weight, head_dim / 2 of them
  std::int32_t sliding_window = 0;            // 0: no such key
  std::string pre_tokenizer = "smollm";       // "": no such key
  std::vector<std::string> marks = {};        // control tokens behind the others
};

/// The marks of a family that fills in the middle, by the name that FillInMiddle has for it; none for others.
[[nodiscard]] std::vector<std::string> fill_marks_of(std::string_view family);

/// Ids: 0 <|endoftext|>, 1 <|im_start|>, 2 <|im_end|> (control), 3 + b for byte b, then the merges in order,
/// then the model's marks.
inline constexpr std::int32_t kTinyFirstByte = 3;
inline constexpr std::int32_t kTinyVocabulary = 300;  // without marks

[[nodiscard]] GgufWriter make_tiny_model(const TinyModel& options = {});

[[nodiscard]] Result<void> write_tiny_model(const std::filesystem::path& file, const TinyModel& options = {});

}  // namespace kvboost::test
