// SPDX-License-Identifier: Apache-2.0
// Key names and defaults: ggml-org/ggml, docs/gguf.md, and what llama.cpp's converters write.
#include "engine/model/spec_reader.h"

#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <set>

#include "engine/engine.h"
#include "engine/model/dequantise.h"
#include "engine/model/gguf_refusal.h"

namespace kvboost::engine {
namespace {

constexpr std::array<std::string_view, 4> kArchitectures = {"llama", "qwen2", "qwen3", "gemma3"};

// Far above any real model; every product of two of them fits an int64.
constexpr std::int64_t kMaxLayers = 1024;
constexpr std::int64_t kMaxWidth = 1 << 18;
constexpr std::int64_t kMaxHeads = 4096;
constexpr std::int64_t kMaxHeadDim = 1024;
constexpr std::int64_t kMaxFeedForward = 1 << 20;
constexpr std::int64_t kMaxContext = 1 << 27;

// Gemma 3's constants, which its files do not always store.
constexpr std::int32_t kGemmaPattern = 6;
constexpr double kGemmaLocalBase = 10000.0;
constexpr std::int32_t kGemma27bLayers = 62;

std::string name_of_file_type(std::int64_t number) {
  static const std::map<std::int64_t, std::string> kNames = {
      {0, "F32"},     {1, "F16"},     {2, "Q4_0"},    {3, "Q4_1"},    {7, "Q8_0"},    {8, "Q5_0"},
      {9, "Q5_1"},    {10, "Q2_K"},   {11, "Q3_K_S"}, {12, "Q3_K_M"}, {13, "Q3_K_L"}, {14, "Q4_K_S"},
      {15, "Q4_K_M"}, {16, "Q5_K_S"}, {17, "Q5_K_M"}, {18, "Q6_K"},   {21, "Q2_K_S"}, {32, "BF16"}};
  const auto found = kNames.find(number);
  return found == kNames.end() ? "" : found->second;
}

std::string commonest_type(const Gguf& gguf) {
  std::map<std::string_view, std::int64_t> elements;
  for (const GgufTensor& tensor : gguf.tensors()) elements[to_string(tensor.type)] += tensor.elements();
  std::string_view most;
  for (const auto& [type, count] : elements) {
    if (most.empty() || count > elements[most]) most = type;
  }
  return std::string(most);
}

std::string shape_text(const std::vector<std::int64_t>& shape) {
  std::string text;
  for (const std::int64_t size : shape) text += (text.empty() ? "" : " x ") + std::to_string(size);
  return text;
}

/// The first failure is kept; from then on every reading gives a harmless value.
class SpecReader {
 public:
  SpecReader(const Gguf& gguf, const std::filesystem::path& file) : gguf_(gguf), file_(file) {}

  Result<ModelSpec> read();

 private:
  void read_architecture();
  void read_sizes();
  void read_heads();
  void read_vocabulary();
  void read_attention();
  void read_rope();
  void read_rope_scaling();
  void read_frequency_factors();
  void read_output();
  void read_gemma();
  void refuse_features();
  void check_tensors();

  std::string key(std::string_view name) const { return spec_.architecture + "." + std::string(name); }
  std::int32_t size(std::string_view name, std::int64_t most);
  std::int32_t size_or(std::string_view name, std::int64_t absent, std::int64_t most);
  std::int32_t size_unless_zero(std::string_view name, std::int64_t absent, std::int64_t most);
  double number_or(std::string_view name, double absent, double least, double most);
  bool has_tensor(std::string_view name) const { return gguf_.tensor(name) != nullptr; }

  void refuse(std::string message, std::string remedy = {});

  const Gguf& gguf_;
  const std::filesystem::path& file_;
  ModelSpec spec_;
  std::optional<Error> error_;
};

Result<ModelSpec> SpecReader::read() {
  using Step = void (SpecReader::*)();
  for (const Step step :
       {&SpecReader::read_architecture, &SpecReader::refuse_features, &SpecReader::read_sizes,
        &SpecReader::read_heads, &SpecReader::read_vocabulary, &SpecReader::read_attention,
        &SpecReader::read_rope, &SpecReader::read_gemma, &SpecReader::read_frequency_factors,
        &SpecReader::read_output, &SpecReader::check_tensors}) {
    (this->*step)();
    if (error_) return fail(*error_);
  }
  return std::move(spec_);
}

void SpecReader::read_architecture() {
  const auto architecture = gguf_.text("general.architecture");
  if (!architecture) return refuse("general.architecture is missing");
  spec_.architecture = *architecture;
  std::string supported;
  for (const std::string_view name : kArchitectures) {
    if (name == *architecture) supported = name;
  }
  if (supported.empty()) {
    for (const std::string_view name : kArchitectures)
      supported += (supported.empty() ? "" : ", ") + std::string(name);
    return refuse("its architecture is " + shown(*architecture) + "; supported are " + supported,
                  "use a model of one of these families");
  }
  spec_.name = gguf_.text("general.name").value_or("");
  if (spec_.name.empty()) spec_.name = file_.stem().string();
  spec_.file_type = name_of_file_type(gguf_.integer("general.file_type").value_or(-1));
  if (spec_.file_type.empty()) spec_.file_type = commonest_type(gguf_);
}

/// What would load, and then answer wrongly.
void SpecReader::refuse_features() {
  if (const auto parts = gguf_.integer("split.count"); parts && *parts > 1) {
    return refuse("it is one of " + std::to_string(*parts) + " parts of a model",
                  "join them with llama-gguf-split --merge");
  }
  if (const auto type = gguf_.text("general.type"); type && *type != "model") {
    return refuse("general.type is " + shown(*type) + ", expected 'model'",
                  "name the model that it belongs to");
  }
  if (gguf_.integer(key("expert_count")).value_or(0) > 0) {
    return refuse(key("expert_count") + " is set: mixtures of experts are not supported");
  }
  for (const char* name : {"attn_logit_softcapping", "final_logit_softcapping"}) {
    if (gguf_.number(key(name)).value_or(0) != 0)
      return refuse(key(name) + " is set, which is not supported");
  }
}

void SpecReader::read_sizes() {
  spec_.n_layers = size("block_count", kMaxLayers);
  spec_.context = size("context_length", kMaxContext);
  spec_.width = size("embedding_length", kMaxWidth);
  spec_.feed_forward = size("feed_forward_length", kMaxFeedForward);
  const std::string eps = key("attention.layer_norm_rms_epsilon");
  if (!gguf_.number(eps)) refuse(eps + " is missing, expected a number above 0");
  spec_.rms_eps = static_cast<float>(number_or("attention.layer_norm_rms_epsilon", 1e-5, 1e-12, 1e-1));
}

void SpecReader::read_heads() {
  spec_.n_heads = size("attention.head_count", kMaxHeads);
  spec_.n_kv_heads = size_or("attention.head_count_kv", spec_.n_heads, kMaxHeads);
  if (error_) return;
  if (spec_.n_heads % spec_.n_kv_heads != 0) {
    return refuse(key("attention.head_count") + " is " + std::to_string(spec_.n_heads) +
                  ", expected a multiple of " + key("attention.head_count_kv") + ", " +
                  std::to_string(spec_.n_kv_heads));
  }
  if (gguf_.find(key("attention.key_length")) == nullptr && spec_.width % spec_.n_heads != 0) {
    return refuse(key("embedding_length") + " is " + std::to_string(spec_.width) +
                  ", expected a multiple of the " + std::to_string(spec_.n_heads) + " heads");
  }
  spec_.head_dim = size_or("attention.key_length", spec_.width / spec_.n_heads, kMaxHeadDim);
  const std::int32_t value_dim = size_or("attention.value_length", spec_.head_dim, kMaxHeadDim);
  if (error_) return;
  if (spec_.head_dim % 2 != 0) {
    return refuse("the head dimension is " + std::to_string(spec_.head_dim) + ", expected an even number (" +
                  key("attention.key_length") + ")");
  }
  if (value_dim != spec_.head_dim) {
    refuse(key("attention.value_length") + " is " + std::to_string(value_dim) +
           ", expected that of the keys, " + std::to_string(spec_.head_dim));
  }
}

void SpecReader::read_vocabulary() {
  const GgufTensor* embedding = gguf_.tensor("token_embd.weight");
  if (embedding == nullptr) return refuse("the tensor token_embd.weight is missing");
  if (embedding->shape.size() != 2) {
    return refuse("token_embd.weight has the shape " + shape_text(embedding->shape) +
                  ", expected two dimensions");
  }
  const std::int64_t rows = embedding->shape[1];
  const auto* tokens = gguf_.texts("tokenizer.ggml.tokens");
  if (tokens == nullptr) return refuse("tokenizer.ggml.tokens is missing, expected a list of texts");
  if (static_cast<std::int64_t>(tokens->size()) != rows || rows > std::numeric_limits<std::int32_t>::max()) {
    return refuse("tokenizer.ggml.tokens has " + std::to_string(tokens->size()) +
                  " entries, expected as many as token_embd.weight has rows, " + std::to_string(rows));
  }
  spec_.vocabulary = static_cast<std::int32_t>(rows);
}

void SpecReader::read_attention() {
  spec_.qkv_bias = has_tensor("blk.0.attn_q.bias");
  spec_.qk_norm = has_tensor("blk.0.attn_q_norm.weight") || spec_.architecture == "qwen3";
  spec_.attention_scale = static_cast<float>(number_or("attention.scale", 0.0, 0.0, 1e3));
  spec_.sliding_window = size_unless_zero("attention.sliding_window", 0, kMaxContext);
}

void SpecReader::read_rope() {
  RopeSpec& rope = spec_.rope;
  rope.layout = spec_.architecture == "llama" ? RopeLayout::kInterleaved : RopeLayout::kHalves;
  rope.base = number_or("rope.freq_base", 10000.0, 1.0, 1e15);
  rope.n_rotated = size_or("rope.dimension_count", spec_.head_dim, spec_.head_dim);
  if (rope.n_rotated % 2 != 0) {
    return refuse(key("rope.dimension_count") + " is " + std::to_string(rope.n_rotated) +
                  ", expected an even number");
  }
  read_rope_scaling();
}

/// A type that is not known here keeps its name: the engine decides what it can do with it.
void SpecReader::read_rope_scaling() {
  RopeSpec& rope = spec_.rope;
  const double old_key = number_or("rope.scale_linear", 1.0, 1e-6, 1e6);
  rope.factor = number_or("rope.scaling.factor", old_key, 0.0, 1e6);
  if (rope.factor == 0.0) rope.factor = 1.0;  // some converters write 0 for "none"
  const auto type = gguf_.text(key("rope.scaling.type"));
  rope.scaling = type ? std::string(*type) : rope.factor != 1.0 ? "linear" : "none";
  if (rope.scaling == "none") rope.factor = 1.0;
  if (rope.scaling == "linear" && rope.factor == 1.0) rope.scaling = "none";
  rope.original_context =
      size_unless_zero("rope.scaling.original_context_length", spec_.context, kMaxContext);
  rope.yarn_ext_factor = number_or("rope.scaling.yarn_ext_factor", 1.0, 0.0, 1e3);
  rope.yarn_attn_factor = number_or("rope.scaling.attn_factor", 1.0, 0.0, 1e3);
  rope.yarn_attn_factor = number_or("rope.scaling.yarn_attn_factor", rope.yarn_attn_factor, 0.0, 1e3);
  rope.yarn_beta_fast = number_or("rope.scaling.yarn_beta_fast", 32.0, 0.0, 1e6);
  rope.yarn_beta_slow = number_or("rope.scaling.yarn_beta_slow", 1.0, 0.0, 1e6);
}

void SpecReader::read_gemma() {
  if (spec_.architecture != "gemma3") return;
  spec_.qk_norm = true;
  spec_.post_norms = true;
  spec_.activation = Activation::kGelu;
  spec_.embedding_scale = std::sqrt(static_cast<float>(spec_.width));
  spec_.local_rope_base = number_or("rope.freq_base_swa", kGemmaLocalBase, 1.0, 1e15);
  spec_.sliding_pattern = size_or("attention.sliding_window_pattern", kGemmaPattern, kMaxLayers);
  // The 27B model alone scales by the width of a head as if the heads shared the model's width.
  if (spec_.attention_scale == 0.0F && spec_.n_layers == kGemma27bLayers) {
    spec_.attention_scale =
        1.0F / std::sqrt(static_cast<float>(spec_.width) / static_cast<float>(spec_.n_heads));
  }
}

void SpecReader::read_frequency_factors() {
  const GgufTensor* tensor = gguf_.tensor("rope_freqs.weight");
  if (tensor == nullptr) return;
  const std::int64_t expected = spec_.rope.n_rotated / 2;
  if (tensor->type != TensorType::kF32 || tensor->elements() != expected) {
    return refuse("rope_freqs.weight has the shape " + shape_text(tensor->shape) + " of " +
                  std::string(to_string(tensor->type)) + ", expected " + std::to_string(expected) +
                  " of F32");
  }
  spec_.rope.frequency_factors.resize(static_cast<std::size_t>(expected));
  dequantise(tensor->type, tensor->data, spec_.rope.frequency_factors);
  for (const float factor : spec_.rope.frequency_factors) {
    if (!std::isfinite(factor) || factor <= 0) {
      return refuse("rope_freqs.weight has a value of " + std::to_string(factor) + ", expected ones above 0");
    }
  }
}

/// Tied by presence: no output tensor means that the embedding serves as output too, unless the file says
/// that it does not.
void SpecReader::read_output() {
  spec_.tied_output = !has_tensor("output.weight");
  if (!spec_.tied_output) return;
  for (const std::string& name : {std::string("general.tie_word_embeddings"), key("tie_word_embeddings")}) {
    if (gguf_.boolean(name) == false) {
      return refuse("the tensor output.weight is missing, and " + name + " says that the output is not tied",
                    "fetch the file again, or convert the model again");
    }
  }
}

void SpecReader::check_tensors() {
  std::set<std::string, std::less<>> known = {"rope_freqs.weight"};
  for (const ExpectedTensor& expected : expected_tensors(spec_)) {
    known.insert(expected.name);
    const GgufTensor* tensor = gguf_.tensor(expected.name);
    if (tensor == nullptr) return refuse("the tensor " + expected.name + " is missing");
    if (tensor->shape != expected.shape) {
      return refuse(expected.name + " has the shape " + shape_text(tensor->shape) + ", expected " +
                    shape_text(expected.shape));
    }
  }
  for (const GgufTensor& tensor : gguf_.tensors()) {
    if (!known.contains(tensor.name)) {
      return refuse("the tensor " + shown(tensor.name) + " has no place in a " + spec_.architecture +
                    " model");
    }
  }
}

std::int32_t SpecReader::size(std::string_view name, std::int64_t most) {
  if (gguf_.find(key(name)) == nullptr) {
    refuse(key(name) + " is missing, expected a number from 1 to " + std::to_string(most));
  }
  return size_or(name, 1, most);
}

std::int32_t SpecReader::size_or(std::string_view name, std::int64_t absent, std::int64_t most) {
  if (error_ || gguf_.find(key(name)) == nullptr) return static_cast<std::int32_t>(absent);
  const auto value = gguf_.integer(key(name));
  if (value && *value >= 1 && *value <= most) return static_cast<std::int32_t>(*value);
  refuse(key(name) + (value ? " is " + std::to_string(*value) : std::string(" is no single integer")) +
         ", expected a number from 1 to " + std::to_string(most));
  return static_cast<std::int32_t>(absent);
}

/// For keys that some converters write as 0 for "none".
std::int32_t SpecReader::size_unless_zero(std::string_view name, std::int64_t absent, std::int64_t most) {
  if (gguf_.integer(key(name)) == 0) return static_cast<std::int32_t>(absent);
  return size_or(name, absent, most);
}

double SpecReader::number_or(std::string_view name, double absent, double least, double most) {
  if (error_ || gguf_.find(key(name)) == nullptr) return absent;
  const auto value = gguf_.number(key(name));
  if (value && *value >= least && *value <= most) return *value;
  refuse(key(name) + (value ? " is " + std::to_string(*value) : std::string(" is no number")) +
         ", expected a number from " + std::to_string(least) + " to " + std::to_string(most));
  return absent;
}

void SpecReader::refuse(std::string message, std::string remedy) {
  if (error_) return;
  if (remedy.empty()) remedy = "convert the model again with a current llama.cpp, or use another one";
  error_ = Error{ErrorCode::kModel, "cannot use model " + file_.string() + ": " + message, std::move(remedy)};
}

}  // namespace

Result<ModelSpec> read_spec(const Gguf& gguf, const std::filesystem::path& file) {
  return SpecReader(gguf, file).read();
}

Result<ModelSpec> read_spec(const std::filesystem::path& model) {
  const auto gguf = Gguf::open(model);
  if (!gguf) return fail(gguf.error());
  return read_spec(*gguf, model);
}

}  // namespace kvboost::engine
