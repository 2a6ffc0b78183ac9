// SPDX-License-Identifier: Apache-2.0
#include "tests/support/tiny_model.h"

#include <array>
#include <cmath>
#include <cstdlib>
#include <iostream>
#include <random>

namespace kvboost::test {
namespace {

using engine::TensorType;

constexpr std::array<const char*, 3> kSpecialTokens = {"<|endoftext|>", "<|im_start|>", "<|im_end|>"};
constexpr std::array<const char*, 41> kMerges = {
    "Ġ t", "Ġ a",  "i n",  "h e", "Ġ Ġ",   "r e",  "o n", "e r", "Ġt he", "a t",   "Ġ s", "Ġ o", "e n", "Ġ c",
    "e s", "Ġ w",  "n d",  "i t", "o r",   "i s",  "a l", "Ġ p", "in g",  "Ġ f",   "a n", "e d", "Ġ b", "o u",
    "a r", "Ġ in", "Ġo f", "Ġ m", "Ġa nd", "i on", "i c", "Ġ d", "Ġt o",  "ĠĠ ĠĠ", "l e", "Ġ =", "( )"};
static_assert(kSpecialTokens.size() + 256 + kMerges.size() == kTinyVocabulary);

constexpr const char* kChatTemplate =
    "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\n' + message['content'] + "
    "'<|im_end|>' + '\n'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif "
    "%}";

std::string utf8(std::uint32_t code) {
  if (code < 0x80) return {static_cast<char>(code)};
  return {static_cast<char>(0xC0U | (code >> 6)), static_cast<char>(0x80U | (code & 0x3FU))};
}

/// The character that byte-level BPE writes for each byte: itself where it is printable Latin-1, else one
/// from U+0100 on.
std::vector<std::string> byte_tokens() {
  std::vector<std::string> tokens;
  std::uint32_t next = 0x100;
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    const bool printable = (byte > 0x20 && byte < 0x7F) || (byte > 0xA0 && byte != 0xAD);
    tokens.push_back(utf8(printable ? byte : next++));
  }
  return tokens;
}

void set_tokenizer(GgufWriter& file, const TinyModel& options) {
  constexpr std::int32_t kNormal = 1;
  constexpr std::int32_t kControl = 3;
  std::vector<std::string> tokens(kSpecialTokens.begin(), kSpecialTokens.end());
  std::vector<std::int32_t> types(tokens.size(), kControl);
  for (std::string& token : byte_tokens()) tokens.push_back(std::move(token));
  for (const std::string merge : kMerges) {
    const std::size_t space = merge.find(' ');
    tokens.push_back(merge.substr(0, space) + merge.substr(space + 1));
  }
  types.resize(tokens.size(), kNormal);
  tokens.insert(tokens.end(), options.marks.begin(), options.marks.end());
  types.resize(tokens.size(), kControl);
  file.set("tokenizer.ggml.model", "gpt2");
  if (!options.pre_tokenizer.empty()) file.set("tokenizer.ggml.pre", options.pre_tokenizer);
  file.set("tokenizer.ggml.tokens", tokens);
  file.set("tokenizer.ggml.token_type", types);
  file.set("tokenizer.ggml.merges", std::vector<std::string>(kMerges.begin(), kMerges.end()));
  file.set("tokenizer.ggml.bos_token_id", std::uint32_t{1});
  file.set("tokenizer.ggml.eos_token_id", std::uint32_t{2});
  file.set("tokenizer.ggml.add_bos_token", false);
  file.set("tokenizer.chat_template", kChatTemplate);
}

std::int32_t vocabulary_of(const TinyModel& options) {
  return kTinyVocabulary + static_cast<std::int32_t>(options.marks.size());
}

/// general.file_type's number for a file that is mostly of this type.
std::uint32_t file_type(TensorType type) {
  switch (type) {
    case TensorType::kF16:
      return 1;
    case TensorType::kQ4_0:
      return 2;
    case TensorType::kQ4_1:
      return 3;
    case TensorType::kQ8_0:
      return 7;
    case TensorType::kBF16:
      return 32;
    default:
      return 0;
  }
}

void set_shape(GgufWriter& file, const TinyModel& options) {
  const auto set = [&](const std::string& key, auto value) {
    file.set(options.architecture + "." + key, value);
  };
  const auto size = [&](const std::string& key, std::int32_t value) {
    set(key, static_cast<std::uint32_t>(value));
  };
  file.set("general.architecture", options.architecture);
  file.set("general.name", "Tiny " + options.architecture);
  file.set("general.file_type", file_type(options.type));
  size("block_count", options.n_layers);
  size("context_length", options.context);
  size("embedding_length", options.width);
  size("feed_forward_length", options.feed_forward);
  size("attention.head_count", options.n_heads);
  size("attention.head_count_kv", options.n_kv_heads);
  size("attention.key_length", options.head_dim);
  size("attention.value_length", options.head_dim);
  size("vocab_size", vocabulary_of(options));
  set("attention.layer_norm_rms_epsilon", 1e-5F);
  set("rope.freq_base", options.rope_base);
  if (options.architecture == "llama") size("rope.dimension_count", options.head_dim);
  if (!options.rope_scaling.empty()) {
    set("rope.scaling.type", options.rope_scaling);
    set("rope.scaling.factor", options.rope_factor);
    size("rope.scaling.original_context_length", options.original_context);
  }
  if (options.sliding_window > 0) size("attention.sliding_window", options.sliding_window);
}

class RandomTensors {
 public:
  RandomTensors(GgufWriter& file, const TinyModel& options)
      : file_(file), type_(options.type), random_(options.seed) {}

  /// Rows of unit variance over `in`, so that activations neither fade nor grow.
  void matrix(const std::string& name, std::int32_t in, std::int32_t out) {
    add(name, {in, out}, type_, 0.0F, 1.0F / std::sqrt(static_cast<float>(in)));
  }
  /// Logits come with a deviation of about 2.
  void embedding(const std::string& name, std::int32_t width, std::int32_t vocabulary) {
    add(name, {width, vocabulary}, type_, 0.0F, 2.0F / std::sqrt(static_cast<float>(width)));
  }
  void norm(const std::string& name, std::int32_t size) { add(name, {size}, TensorType::kF32, 1.0F, 0.1F); }
  void bias(const std::string& name, std::int32_t size) { add(name, {size}, TensorType::kF32, 0.0F, 0.3F); }
  void exact(const std::string& name, const std::vector<float>& values) {
    put(name, {static_cast<std::int64_t>(values.size())}, TensorType::kF32, values);
  }

 private:
  void add(const std::string& name, const std::vector<std::int64_t>& shape, TensorType type, float mean,
           float deviation) {
    std::int64_t elements = 1;
    for (const std::int64_t size : shape) elements *= size;
    std::normal_distribution<float> distribution(mean, deviation);
    std::vector<float> values(static_cast<std::size_t>(elements));
    for (float& value : values) value = distribution(random_);
    put(name, shape, type, values);
  }

  /// Options that make no file (a width that is no multiple of the type's block) are a mistake in the test.
  void put(const std::string& name, const std::vector<std::int64_t>& shape, TensorType type,
           const std::vector<float>& values) {
    if (const auto added = file_.add_tensor(name, shape, type, values); !added) {
      std::cerr << added.error().text() << "\n";
      std::abort();
    }
  }

  GgufWriter& file_;
  TensorType type_;
  std::mt19937_64 random_;
};

void add_layer(RandomTensors& tensors, const TinyModel& options, const std::string& layer) {
  const std::int32_t queries = options.n_heads * options.head_dim;
  const std::int32_t keys = options.n_kv_heads * options.head_dim;
  const bool gemma = options.architecture == "gemma3";
  tensors.norm(layer + "attn_norm.weight", options.width);
  tensors.matrix(layer + "attn_q.weight", options.width, queries);
  tensors.matrix(layer + "attn_k.weight", options.width, keys);
  tensors.matrix(layer + "attn_v.weight", options.width, keys);
  tensors.matrix(layer + "attn_output.weight", queries, options.width);
  if (options.architecture == "qwen2") {
    tensors.bias(layer + "attn_q.bias", queries);
    tensors.bias(layer + "attn_k.bias", keys);
    tensors.bias(layer + "attn_v.bias", keys);
  }
  if (options.architecture == "qwen3" || gemma) {
    tensors.norm(layer + "attn_q_norm.weight", options.head_dim);
    tensors.norm(layer + "attn_k_norm.weight", options.head_dim);
  }
  if (gemma) {
    tensors.norm(layer + "post_attention_norm.weight", options.width);
    tensors.norm(layer + "post_ffw_norm.weight", options.width);
  }
  tensors.norm(layer + "ffn_norm.weight", options.width);
  tensors.matrix(layer + "ffn_gate.weight", options.width, options.feed_forward);
  tensors.matrix(layer + "ffn_up.weight", options.width, options.feed_forward);
  tensors.matrix(layer + "ffn_down.weight", options.feed_forward, options.width);
}

}  // namespace

std::vector<std::string> fill_marks_of(std::string_view family) {
  if (family == "qwen2.5-coder")
    return {"<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>",
            "<|fim_pad|>",    "<|repo_name|>",  "<|file_sep|>"};
  if (family == "starcoder2")
    return {"<fim_prefix>", "<fim_middle>", "<fim_suffix>", "<fim_pad>", "<repo_name>", "<file_sep>"};
  if (family == "codellama") return {"▁<PRE>", "▁<MID>", "▁<SUF>", "▁<EOT>"};
  if (family == "deepseek-coder") return {"<｜fim▁hole｜>", "<｜fim▁begin｜>", "<｜fim▁end｜>"};
  if (family == "codestral") return {"[PREFIX]", "[SUFFIX]", "[MIDDLE]"};
  return {};
}

GgufWriter make_tiny_model(const TinyModel& options) {
  GgufWriter file;
  set_shape(file, options);
  set_tokenizer(file, options);
  RandomTensors tensors(file, options);
  tensors.embedding("token_embd.weight", options.width, vocabulary_of(options));
  for (std::int32_t layer = 0; layer < options.n_layers; ++layer) {
    add_layer(tensors, options, "blk." + std::to_string(layer) + ".");
  }
  tensors.norm("output_norm.weight", options.width);
  if (!options.tied_output) tensors.embedding("output.weight", options.width, vocabulary_of(options));
  if (!options.frequency_factors.empty()) tensors.exact("rope_freqs.weight", options.frequency_factors);
  return file;
}

Result<void> write_tiny_model(const std::filesystem::path& file, const TinyModel& options) {
  return make_tiny_model(options).write(file);
}

}  // namespace kvboost::test
