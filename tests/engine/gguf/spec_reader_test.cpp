// SPDX-License-Identifier: Apache-2.0
// A spec from each architecture, and from files in which one thing is wrong.
#include "engine/model/spec_reader.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "tests/support/tiny_model.h"

namespace kvboost::engine {
namespace {

using test::GgufWriter;
using test::TinyModel;

Result<ModelSpec> spec_of(const GgufWriter& file) {
  const auto bytes = file.bytes();
  const auto gguf = Gguf::parse(bytes);
  if (!gguf) return fail(gguf.error());
  return read_spec(*gguf, "/models/tiny.gguf");
}

ModelSpec good(const TinyModel& options) {
  const auto spec = spec_of(test::make_tiny_model(options));
  EXPECT_TRUE(spec.has_value()) << spec.error().text();
  return spec.value_or(ModelSpec{});
}

/// Changes a good file and expects a refusal whose message has `part`.
void expect_refused(const TinyModel& options, const std::function<void(GgufWriter&)>& change,
                    std::string_view part) {
  GgufWriter file = test::make_tiny_model(options);
  ASSERT_TRUE(spec_of(file).has_value());
  change(file);
  const auto spec = spec_of(file);
  ASSERT_FALSE(spec.has_value()) << part;
  EXPECT_EQ(to_string(spec.error().code), "model");
  EXPECT_NE(spec.error().message.find(part), std::string::npos) << spec.error().text();
  EXPECT_NE(spec.error().message.find("/models/tiny.gguf"), std::string::npos) << spec.error().text();
  EXPECT_FALSE(spec.error().remedy.empty()) << spec.error().text();
}

template <class T>
void expect_value_refused(const std::string& key, const T& value, std::string_view part) {
  expect_refused(
      {}, [&](GgufWriter& file) { file.set(key, value); }, part);
}

TEST(SpecReader, Llama) {
  const ModelSpec spec = good({.type = TensorType::kQ8_0, .rope_base = 500000.0F});
  EXPECT_EQ(spec.architecture, "llama");
  EXPECT_EQ(spec.name, "Tiny llama");
  EXPECT_EQ(spec.file_type, "Q8_0");
  EXPECT_EQ(spec.n_layers, 3);
  EXPECT_EQ(spec.width, 64);
  EXPECT_EQ(spec.n_heads, 4);
  EXPECT_EQ(spec.n_kv_heads, 2);
  EXPECT_EQ(spec.head_dim, 16);
  EXPECT_EQ(spec.feed_forward, 96);
  EXPECT_EQ(spec.vocabulary, test::kTinyVocabulary);
  EXPECT_EQ(spec.context, 2048);
  EXPECT_FLOAT_EQ(spec.rms_eps, 1e-5F);
  EXPECT_TRUE(spec.tied_output);
  EXPECT_FALSE(spec.qkv_bias);
  EXPECT_FALSE(spec.qk_norm);
  EXPECT_FALSE(spec.norm_plus_one);
  EXPECT_EQ(spec.activation, Activation::kSilu);
  EXPECT_EQ(spec.embedding_scale, 1.0F);
  EXPECT_EQ(spec.attention_scale, 0.0F);
  EXPECT_EQ(spec.sliding_window, 0);
  EXPECT_EQ(spec.rope.layout, RopeLayout::kInterleaved);
  EXPECT_EQ(spec.rope.base, 500000.0);
  EXPECT_EQ(spec.rope.n_rotated, 16);
  EXPECT_EQ(spec.rope.scaling, "none");
  EXPECT_TRUE(spec.rope.frequency_factors.empty());
}

TEST(SpecReader, Qwen2) {
  const ModelSpec spec = good({.architecture = "qwen2"});
  EXPECT_TRUE(spec.qkv_bias);
  EXPECT_FALSE(spec.qk_norm);
  EXPECT_EQ(spec.rope.layout, RopeLayout::kHalves);
  EXPECT_EQ(spec.rope.n_rotated, 16);
}

TEST(SpecReader, Qwen3) {
  const ModelSpec spec = good({.architecture = "qwen3"});
  EXPECT_FALSE(spec.qkv_bias);
  EXPECT_TRUE(spec.qk_norm);
  EXPECT_EQ(spec.rope.layout, RopeLayout::kHalves);
  expect_refused(
      {.architecture = "qwen3"}, [](GgufWriter& file) { file.remove_tensor("blk.0.attn_q_norm.weight"); },
      "blk.0.attn_q_norm.weight is missing");
}

TEST(SpecReader, Gemma3) {
  const ModelSpec spec = good({.architecture = "gemma3", .rope_base = 1e6F, .sliding_window = 512});
  EXPECT_TRUE(spec.qk_norm);
  EXPECT_TRUE(spec.post_norms);
  EXPECT_FALSE(spec.norm_plus_one);
  EXPECT_EQ(spec.activation, Activation::kGelu);
  EXPECT_EQ(spec.embedding_scale, 8.0F);
  EXPECT_EQ(spec.sliding_window, 512);
  EXPECT_EQ(spec.sliding_pattern, 6);
  EXPECT_EQ(spec.rope.base, 1e6);
  EXPECT_EQ(spec.local_rope_base, 10000.0);
  EXPECT_EQ(spec.attention_scale, 0.0F);
  const ModelSpec largest = good({.architecture = "gemma3", .n_layers = 62});
  EXPECT_FLOAT_EQ(largest.attention_scale, 0.25F);
  GgufWriter file = test::make_tiny_model({.architecture = "gemma3"});
  file.set("gemma3.attention.scale", 0.125F);
  EXPECT_EQ(spec_of(file)->attention_scale, 0.125F);
}

TEST(SpecReader, OutputIsTiedByPresence) {
  EXPECT_TRUE(good({.tied_output = true}).tied_output);
  EXPECT_FALSE(good({.tied_output = false}).tied_output);
  GgufWriter declared = test::make_tiny_model({.tied_output = true});
  declared.set("llama.tie_word_embeddings", true);
  EXPECT_TRUE(spec_of(declared)->tied_output);
  expect_value_refused("llama.tie_word_embeddings", false, "output.weight is missing");
  expect_value_refused("general.tie_word_embeddings", false, "output.weight is missing");
}

TEST(SpecReader, RopeScaling) {
  const ModelSpec linear = good({.rope_scaling = "linear", .rope_factor = 4.0F});
  EXPECT_EQ(linear.rope.scaling, "linear");
  EXPECT_EQ(linear.rope.factor, 4.0);
  const ModelSpec yarn = good({.rope_scaling = "yarn", .rope_factor = 2.0F, .original_context = 1024});
  EXPECT_EQ(yarn.rope.scaling, "yarn");
  EXPECT_EQ(yarn.rope.original_context, 1024);
  EXPECT_EQ(yarn.rope.yarn_beta_fast, 32.0);
  EXPECT_EQ(good({.rope_scaling = "yarn"}).rope.original_context, 2048);
  EXPECT_EQ(good({.rope_scaling = "spiral", .rope_factor = 2.0F}).rope.scaling, "spiral");
  EXPECT_EQ(good({.rope_scaling = "linear", .rope_factor = 1.0F}).rope.scaling, "none");
  GgufWriter only_factor = test::make_tiny_model({});
  only_factor.set("llama.rope.scaling.factor", 8.0F);
  EXPECT_EQ(spec_of(only_factor)->rope.scaling, "linear");
  expect_value_refused("llama.rope.scaling.factor", -1.0F, "llama.rope.scaling.factor is -1");
}

TEST(SpecReader, FrequencyFactors) {
  const std::vector<float> factors = {1, 1, 1, 1, 2, 4, 8, 8};
  EXPECT_EQ(good({.frequency_factors = factors}).rope.frequency_factors, factors);
  const auto replaced = [&](const std::vector<float>& values) {
    return [values](GgufWriter& file) {
      ASSERT_TRUE(file.add_tensor("rope_freqs.weight", {static_cast<std::int64_t>(values.size())},
                                  TensorType::kF32, values));
    };
  };
  expect_refused({}, replaced({1, 1}), "rope_freqs.weight has the shape 2");
  expect_refused({}, replaced({1, 1, 1, 1, 1, 1, 1, 0}), "rope_freqs.weight has a value of 0");
  expect_refused({}, replaced({1, 1, 1, 1, 1, 1, 1, NAN}), "rope_freqs.weight has a value of");
}

TEST(SpecReader, RefusesOtherArchitecturesAndKindsOfFile) {
  expect_value_refused("general.architecture", std::string("mamba"), "'mamba'; supported are llama, qwen2");
  expect_value_refused("general.architecture", std::uint32_t{1}, "general.architecture is missing");
  expect_value_refused("general.type", std::string("adapter"), "'adapter'");
  expect_value_refused("split.count", std::uint16_t{3}, "one of 3 parts");
  expect_value_refused("llama.expert_count", std::uint32_t{8}, "llama.expert_count");
  expect_value_refused("llama.final_logit_softcapping", 30.0F, "llama.final_logit_softcapping");
}

TEST(SpecReader, RefusesMissingKeys) {
  for (const std::string key : {"block_count", "context_length", "embedding_length", "feed_forward_length",
                                "attention.head_count", "attention.layer_norm_rms_epsilon"}) {
    expect_refused(
        {}, [&](GgufWriter& file) { file.remove("llama." + key); }, "llama." + key + " is missing");
  }
  expect_refused(
      {}, [](GgufWriter& file) { file.remove("tokenizer.ggml.tokens"); }, "tokenizer.ggml.tokens is missing");
}

TEST(SpecReader, RefusesImpossibleSizes) {
  for (const std::string key : {"block_count", "context_length", "embedding_length", "feed_forward_length",
                                "attention.head_count", "attention.head_count_kv", "attention.key_length",
                                "attention.value_length", "rope.dimension_count"}) {
    expect_value_refused("llama." + key, std::uint32_t{0}, "llama." + key + " is 0, expected");
    expect_value_refused("llama." + key, std::int32_t{-4}, "llama." + key + " is -4, expected");
    expect_value_refused("llama." + key, std::uint32_t{4000000000U},
                         "llama." + key + " is 4000000000, expected");
    expect_value_refused("llama." + key, std::string("4"), "llama." + key + " is no single integer");
  }
  expect_value_refused("llama.attention.head_count_kv", std::uint32_t{3},
                       "head_count is 4, expected a multiple");
  expect_value_refused("llama.attention.key_length", std::uint32_t{15}, "is 15, expected an even number");
  expect_value_refused("llama.attention.value_length", std::uint32_t{32},
                       "value_length is 32, expected that");
  expect_value_refused("llama.rope.dimension_count", std::uint32_t{18}, "dimension_count is 18");
  expect_value_refused("llama.rope.dimension_count", std::uint32_t{7}, "dimension_count is 7");
  expect_value_refused("llama.attention.layer_norm_rms_epsilon", -1.0F, "layer_norm_rms_epsilon is -1");
  expect_value_refused("llama.rope.freq_base", NAN, "llama.rope.freq_base is");
}

TEST(SpecReader, RefusesTensorsThatDoNotFit) {
  expect_value_refused("tokenizer.ggml.tokens", std::vector<std::string>{"a"},
                       "tokenizer.ggml.tokens has 1 entries");
  expect_refused(
      {}, [](GgufWriter& file) { file.remove_tensor("token_embd.weight"); }, "token_embd.weight is missing");
  expect_refused(
      {}, [](GgufWriter& file) { file.remove_tensor("blk.2.ffn_up.weight"); },
      "blk.2.ffn_up.weight is missing");
  expect_value_refused("llama.feed_forward_length", std::uint32_t{128},
                       "blk.0.ffn_gate.weight has the shape 64 x 96, expected 64 x 128");
  expect_value_refused("llama.block_count", std::uint32_t{2}, "'blk.2.attn_k.weight' has no place");
  expect_refused(
      {},
      [](GgufWriter& file) {
        ASSERT_TRUE(
            file.add_tensor("blk.0.attn_output.bias", {64}, TensorType::kF32, std::vector<float>(64)));
      },
      "'blk.0.attn_output.bias' has no place");
}

TEST(SpecReader, NamesComeFromTheFileWhereTheyAreNotStored) {
  GgufWriter file = test::make_tiny_model({.type = TensorType::kQ4_1});
  file.remove("general.name");
  file.remove("general.file_type");
  const auto spec = spec_of(file);
  ASSERT_TRUE(spec.has_value()) << spec.error().text();
  EXPECT_EQ(spec->name, "tiny");
  EXPECT_EQ(spec->file_type, "Q4_1");
}

TEST(SpecReaderModel, ReadsTheRealModel) {
  const char* path = std::getenv("KVBOOST_TEST_MODEL");
  if (path == nullptr) GTEST_SKIP() << "KVBOOST_TEST_MODEL is not set";
  const auto spec = read_spec(std::filesystem::path(path));
  ASSERT_TRUE(spec.has_value()) << spec.error().text();
  EXPECT_EQ(spec->file_type, "Q4_1");
  EXPECT_EQ(spec->n_layers, 30);
  EXPECT_EQ(spec->n_heads, 9);
  EXPECT_EQ(spec->n_kv_heads, 3);
  EXPECT_EQ(spec->head_dim, 64);
  EXPECT_EQ(spec->vocabulary, 49152);
  EXPECT_EQ(spec->rope.base, 100000.0);
  EXPECT_TRUE(spec->tied_output);
}

TEST(SpecReaderModel, NamesAMissingFile) {
  const auto spec = read_spec(std::filesystem::path("/nonexistent/model.gguf"));
  ASSERT_FALSE(spec.has_value());
  EXPECT_EQ(spec.error().code, ErrorCode::kNotFound);
}

}  // namespace
}  // namespace kvboost::engine
